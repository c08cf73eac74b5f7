import type { Agent } from '../../contracts/agents.ts';
import type { Warning } from '../../contracts/common.ts';
import type { WorkflowSettings } from '../../contracts/workflows.ts';
import type { Store, Unjoined } from '../../store/index.ts';

type Joining = Pick<Store, 'unjoined'>;
type OwnedWorkflow = Partial<Omit<WorkflowSettings, 'budget'>> & { owner: string };
type OwnedAgent = Partial<Agent> & { created_by: string };

const toWarning = ({ path, ids, sentence }: Unjoined): Warning => ({
  path,
  message: `The ${sentence} has one of these tags and does not join: neither the owner nor an administrator made it. Name it in \`${ids}\` to use it`,
});

/** Warns about guardrails and skills that carry a workflow's tag and are left out, since anyone could create one with the tag. */
export async function listWorkflowTagWarnings({ unjoined }: Joining, workflow: OwnedWorkflow): Promise<Warning[]> {
  const { owner, skill_tags = [], skill_ids = [], guardrail_tags = [], guardrail_ids = [] } = workflow;
  if (skill_tags.length + guardrail_tags.length === 0) return [];
  return (await unjoined.workflow({ owner, skill_tags, skill_ids, guardrail_tags, guardrail_ids })).map(toWarning);
}

/**
 * Warns about MCP servers and knowledge sources that carry an agent's tag and are left out, since anyone could create one with
 * the tag.
 */
export async function listAgentTagWarnings({ unjoined }: Joining, agent: OwnedAgent): Promise<Warning[]> {
  const { created_by, mcp_server_tags = [], mcp_server_ids = [], required_mcp_servers = [] } = agent;
  const { knowledge_tags = [], knowledge_source_ids = [] } = agent;
  if (mcp_server_tags.length + knowledge_tags.length === 0) return [];
  const values = { created_by, mcp_server_tags, mcp_server_ids, required_mcp_servers, knowledge_tags, knowledge_source_ids };
  return (await unjoined.agent(values)).map(toWarning);
}

import type pg from 'pg';
import type { BudgetLimits } from '../domain/budget.ts';
import type {
  Definition,
  PinnedGuardrail,
  PinnedMcpServer,
  PinnedProvider,
  PinnedSkill,
  PinnedTool,
  RunSettings,
  ToolEffect,
} from '../domain/definition.ts';
import { conflict } from '../domain/errors.ts';
import { row } from './database.ts';

interface ToolRow {
  id: string;
  name: string;
  description: string;
  parameters_schema: Record<string, unknown>;
  effect: ToolEffect;
  source_code: string;
  network: boolean;
  env_config: Record<string, { token_name: string | null }>;
}

interface DefinedTool {
  function: { name: string; description?: string; parameters?: Record<string, unknown> };
}

interface AgentRow {
  id: string;
  name: string;
  system_prompt: string;
  model: string | null;
  provider_id: string | null;
  builtin_tools: string[];
  tool_definitions: DefinedTool[];
  approval_tools: string[];
}

interface WorkflowRow extends RunSettings {
  id: string;
  title: string | null;
  owner: string;
  owner_login: string;
  model: string | null;
  on_busy: string;
  status: string;
  credential_overrides: Record<string, string>;
  webhook_url: string | null;
  error_webhook_url: string | null;
  repo_url: string | null;
  repo_branch: string | null;
  repo_token_name: string | null;
  budget: BudgetLimits | null;
}

export interface Snapshot {
  workflow: WorkflowRow;
  agent: AgentRow;
  provider: PinnedProvider | null;
  tools: ToolRow[];
  mcp_servers: PinnedMcpServer[];
  skills: PinnedSkill[];
  guardrails: PinnedGuardrail[];
  knowledge_source_ids: string[];
  not_joined: string[];
  tools_left_out: { name: string; reason: string }[];
}

/** Whether a row with a tag joins what asks for the tag: `owner` made it, or an administrator (in `admins`) did. */
const joins = (row: string, owner: string, admins: string) =>
  `(${row}.created_by = ${owner} OR ${row}.created_by = ANY (${admins}::text[]))`;

/** Of an agent `a` and a workflow `w`: what has one of their tags, was made by someone else, and is not named by its id. */
const notJoined = (admins: string) => `
    SELECT 'MCP server ' || m.name AS sentence FROM mcp_servers m
      WHERE m.tags && a.mcp_server_tags AND NOT m.id::text = ANY (a.mcp_server_ids || a.required_mcp_servers)
        AND NOT ${joins('m', 'a.created_by', admins)}
    UNION ALL SELECT 'knowledge source ' || k.name FROM knowledge_sources k
      WHERE k.tags && a.knowledge_tags AND NOT k.id::text = ANY (a.knowledge_source_ids) AND NOT ${joins('k', 'a.created_by', admins)}
    UNION ALL SELECT 'skill ' || s.name FROM skills s
      WHERE s.tags && w.skill_tags AND NOT s.id::text = ANY (w.skill_ids) AND NOT ${joins('s', 'w.owner', admins)}
    UNION ALL SELECT 'guardrail ' || g.name FROM guardrails g
      WHERE g.enabled AND g.tags && w.guardrail_tags AND NOT g.id::text = ANY (w.guardrail_ids) AND NOT ${joins('g', 'w.owner', admins)}`;

/* $1 administrators. */
export const NOT_JOINED = {
  name: 'not_joined_by_tag',
  text: `SELECT DISTINCT n.sentence || ' does not join the workflow ' || coalesce(w.title, w.id::text) || ' of ' || w.owner_login AS sentence
    FROM workflows w JOIN agents a ON a.id = w.agent_id, LATERAL (${notJoined('$1')}) n ORDER BY 1`,
};

/* $1 workflow, $2 administrators. What a tag joins, somebody else could add to: so only what its owner or an administrator made counts. */
const SNAPSHOT = {
  name: 'snapshot_workflow',
  text: `SELECT to_jsonb(w) AS workflow, to_jsonb(a) AS agent, to_jsonb(p) AS provider,
      coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY array_position(a.custom_tool_ids, t.id::text)) FROM custom_tools t
        WHERE t.id::text = ANY (a.custom_tool_ids) AND t.is_enabled), '[]') AS tools,
      coalesce((SELECT jsonb_agg(jsonb_build_object('id', m.id, 'name', m.name, 'transport_type', m.transport_type,
          'connection_config', m.connection_config, 'allowed_tools', m.allowed_tools, 'network', m.network, 'paths', m.paths,
          'required', m.id::text = ANY (a.required_mcp_servers)) ORDER BY array_position(a.mcp_server_ids, m.id::text) NULLS LAST, m.id)
        FROM mcp_servers m WHERE m.id::text = ANY (a.mcp_server_ids || a.required_mcp_servers) OR m.tags && a.mcp_server_tags
          AND ${joins('m', 'a.created_by', '$2')}), '[]')
        AS mcp_servers,
      coalesce((SELECT jsonb_agg(jsonb_build_object('name', s.name, 'instructions', s.instructions)
          ORDER BY array_position(w.skill_ids, s.id::text) NULLS LAST, s.id) FROM skills s
        WHERE s.id::text = ANY (w.skill_ids) OR s.tags && w.skill_tags AND ${joins('s', 'w.owner', '$2')}), '[]') AS skills,
      coalesce((SELECT jsonb_agg(jsonb_build_object('name', g.name, 'guardrail_type', g.guardrail_type, 'config', g.config)
          ORDER BY array_position(w.guardrail_ids, g.id::text) NULLS LAST, g.id) FROM guardrails g
        WHERE g.enabled AND (g.id::text = ANY (w.guardrail_ids) OR g.tags && w.guardrail_tags
          AND ${joins('g', 'w.owner', '$2')})), '[]') AS guardrails,
      coalesce((SELECT jsonb_agg(k.id ORDER BY array_position(a.knowledge_source_ids, k.id::text) NULLS LAST, k.id)
        FROM knowledge_sources k WHERE k.id::text = ANY (a.knowledge_source_ids) OR k.tags && a.knowledge_tags
          AND ${joins('k', 'a.created_by', '$2')}), '[]') AS knowledge_source_ids,
      coalesce((SELECT jsonb_agg(DISTINCT n.sentence) FROM (${notJoined('$2')}) n), '[]') AS not_joined,
      coalesce((SELECT jsonb_agg(jsonb_build_object('name', coalesce(t.name, u.id),
          'reason', CASE WHEN t.id IS NULL THEN 'there is no such custom tool' ELSE 'it is disabled' END) ORDER BY u.position)
        FROM unnest(a.custom_tool_ids) WITH ORDINALITY u (id, position) LEFT JOIN custom_tools t ON t.id::text = u.id
        WHERE t.is_enabled IS NOT TRUE), '[]') AS tools_left_out
    FROM workflows w JOIN agents a ON a.id = w.agent_id LEFT JOIN providers p ON p.id = a.provider_id WHERE w.id = $1`,
};

/* $1 agent, $2 owner, $3 administrators. */
export const CHAT_GUARDRAILS = {
  name: 'chat_guardrails',
  text: `SELECT DISTINCT ON (g.id) g.name, g.guardrail_type, g.config FROM guardrails g
    JOIN workflows w ON g.id::text = ANY (w.guardrail_ids) OR g.tags && w.guardrail_tags AND ${joins('g', 'w.owner', '$3')}
    WHERE g.enabled AND w.agent_id = $1 AND w.owner = $2 ORDER BY g.id`,
};

/** Everything a task of this workflow would run with, read in one statement. */
export const snapshotOf = (pool: pg.Pool, workflow_id: string, admins: readonly string[]) =>
  row<Snapshot>(pool, SNAPSHOT, [workflow_id, admins]);

/** Freezes a snapshot. Keys come in one order, so that equal content has one hash. */
export function pinnedDefinition(
  { workflow, agent, provider, tools, mcp_servers, skills, guardrails, knowledge_source_ids, ...without }: Snapshot,
  reasoning_effort?: string | null,
): Definition {
  const { not_joined, tools_left_out } = without;
  if (agent.provider_id && !provider)
    throw conflict(`The provider of the agent ${agent.name} does not exist; give the agent another`, 'provider_missing');
  return {
    agent: { id: agent.id, name: agent.name, system_prompt: agent.system_prompt },
    workflow: { id: workflow.id, title: workflow.title },
    model: workflow.model ?? agent.model ?? provider?.default_model ?? null,
    provider: provider && pinnedProvider(provider),
    settings: {
      max_turns: workflow.max_turns,
      output_format: workflow.output_format,
      reasoning_effort: reasoning_effort === undefined ? workflow.reasoning_effort : reasoning_effort,
      infinite_session: workflow.infinite_session,
      bypass_memory: workflow.bypass_memory,
      auto_memory: workflow.auto_memory,
      tsv_tool_results: workflow.tsv_tool_results,
      caveman: workflow.caveman,
    },
    skills,
    guardrails,
    knowledge_source_ids,
    ...(not_joined.length > 0 ? { not_joined } : {}),
    tools: pinnedTools({ workflow, agent, tools }),
    ...(tools_left_out.length > 0 ? { tools_left_out } : {}),
    ...(mcp_servers.length > 0 ? { mcp_servers } : {}),
    approval_tools: agent.approval_tools,
    webhooks: { completed: workflow.webhook_url, error: workflow.error_webhook_url },
    repository: workflow.repo_url
      ? { url: workflow.repo_url, branch: workflow.repo_branch, token_name: workflow.repo_token_name }
      : null,
    budget: workflow.budget,
  };
}

const MEMORY_TOOLS = ['store_memory', 'search_memory'];

function pinnedTools({ workflow, agent, tools }: Pick<Snapshot, 'workflow' | 'agent' | 'tools'>): PinnedTool[] {
  const custom = tools.map((tool): PinnedTool => {
    const env = Object.entries(tool.env_config).map(([name, { token_name }]) => [
      name,
      workflow.credential_overrides[name] ?? token_name ?? null,
    ]);
    return {
      kind: 'custom',
      id: tool.id,
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters_schema,
      effect: tool.effect,
      source_code: tool.source_code,
      network: tool.network,
      env: Object.fromEntries(env),
      overridden: Object.keys(tool.env_config).filter((name) => workflow.credential_overrides[name] !== undefined),
    };
  });
  const defined = agent.tool_definitions.map(
    ({ function: { name, description = '', parameters = { type: 'object' } } }): PinnedTool => {
      return { kind: 'definition', name, description, parameters, effect: 'read' };
    },
  );
  const builtin = agent.builtin_tools.filter((name) => !(workflow.bypass_memory && MEMORY_TOOLS.includes(name)));
  return [...custom, ...builtin.map((name): PinnedTool => ({ kind: 'builtin', name })), ...defined];
}

/** Only what a run needs of a provider: its times of change would make a new hash for the same content. */
function pinnedProvider(row: PinnedProvider): PinnedProvider {
  const { id, name, provider_type, api_key_token_name, base_url, auth_type, azure_api_version, azure_deployment } = row;
  const { default_model, requests_per_minute, price_table, context_window } = row;
  return {
    ...{ id, name, provider_type, api_key_token_name, base_url, auth_type, azure_api_version, azure_deployment },
    ...{ default_model, requests_per_minute, price_table, context_window },
  };
}

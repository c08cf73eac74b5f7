import { agents } from '../../contracts/agents.ts';
import { budgets } from '../../contracts/budgets.ts';
import { builtinTools } from '../../contracts/builtin-tools.ts';
import { customTools } from '../../contracts/custom-tools.ts';
import { datasets } from '../../contracts/datasets.ts';
import { guardrails } from '../../contracts/guardrails.ts';
import { keys } from '../../contracts/keys.ts';
import { knowledgeSources } from '../../contracts/knowledge.ts';
import { mcps } from '../../contracts/mcps.ts';
import { providers } from '../../contracts/providers.ts';
import { scheduledAgents } from '../../contracts/scheduled-agents.ts';
import { skills } from '../../contracts/skills.ts';
import { tokens } from '../../contracts/tokens.ts';
import { workflows } from '../../contracts/workflows.ts';
import type { AnyEndpoint } from '../api/call.ts';
import { useRead } from '../api/queries.ts';

/**
 * The kinds that a field can refer to: the endpoint that lists the choices, whether the field holds ids or names, and the
 * screen that creates one.
 */
export const KINDS = {
  agent: { list: agents.list, by: 'id', slug: 'agents', noun: 'agent' },
  skill: { list: skills.list, by: 'id', slug: 'skills', noun: 'skill' },
  guardrail: { list: guardrails.list, by: 'id', slug: 'guardrails', noun: 'guardrail' },
  mcp: { list: mcps.list, by: 'id', slug: 'mcps', noun: 'MCP server' },
  custom_tool: { list: customTools.list, by: 'id', slug: 'custom-tools', noun: 'tool' },
  knowledge_source: { list: knowledgeSources.list, by: 'id', slug: 'knowledge-sources', noun: 'source' },
  provider: { list: providers.list, by: 'id', slug: 'providers', noun: 'provider' },
  workflow: { list: workflows.list, by: 'id', slug: 'workflows', noun: 'workflow' },
  schedule: { list: scheduledAgents.list, by: 'id', slug: 'scheduled-agents', noun: 'schedule' },
  budget: { list: budgets.list, by: 'id', slug: 'budgets', noun: 'budget' },
  // A new key is shown only once, on its own page.
  service_key: { list: keys.list, by: 'id', slug: 'keys', noun: null },
  token: { list: tokens.list, by: 'name', slug: 'tokens', noun: 'stored token' },
  dataset: { list: datasets.list, by: 'id', slug: 'datasets', noun: 'dataset' },
  builtin_tool: { list: builtinTools.list, by: 'name', slug: null, noun: null },
} as const satisfies Record<string, { list: AnyEndpoint; by: 'id' | 'name'; slug: string | null; noun: string | null }>;

export type Kind = keyof typeof KINDS;

export interface Option {
  value: string;
  label: string;
}

interface Named {
  id?: string;
  name?: string;
  title?: string | null;
  agent_id?: string;
}

const MOST = 1_000;

/** Returns the choices by name. A workflow without a title is named after its agent. */
export function useNames(kind: Kind, { enabled = true }: { enabled?: boolean } = {}) {
  const { list, by } = KINDS[kind];
  const input = list.kind === 'page' ? { query: { limit: MOST } } : {};
  const query = useRead(list as AnyEndpoint, input, { enabled });
  const agents = useRead(KINDS.agent.list, { query: { limit: MOST } }, { enabled: enabled && kind === 'workflow' });
  const items: Named[] = (list.kind === 'page' ? query.data?.items : query.data) ?? [];
  const agentName = (id: string | undefined) => agents.data?.items.find((agent) => agent.id === id)?.name;
  const options = items.map((item): Option => {
    const label = item.name ?? item.title ?? `workflow of ${agentName(item.agent_id) ?? item.agent_id}`;
    return { value: (by === 'id' ? item.id : item.name) as string, label };
  });
  return {
    options,
    loading: query.isPending && enabled,
    nameOf: (value: string) => options.find((option) => option.value === value)?.label ?? value,
  };
}

/** Returns a function that lists the names of the records that a field refers to, one a line. */
export function useReferenceText(kind: Kind): (value: unknown) => string {
  const { nameOf } = useNames(kind);
  return (value) => [value ?? []].flat().map(String).map(nameOf).join('\n');
}

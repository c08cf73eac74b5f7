import { AGENTS, GUARDRAILS, MEMORIES, SKILLS } from './catalog-agents.tsx';
import { ALERTS } from './catalog-alerts.tsx';
import { BUDGETS } from './catalog-budgets.tsx';
import { KEYS } from './catalog-keys.tsx';
import { CUSTOM_TOOLS, KNOWLEDGE_ITEMS, KNOWLEDGE_SOURCES, MCPS, PROVIDERS, TOKENS } from './catalog-parts.tsx';
import { DATASETS, SCHEDULES, WORKFLOWS } from './catalog-runs.tsx';
import type { ResourceScreen } from './resource.ts';

/** The resources of the generic screens by their part of the URL. */
export const CATALOG: Record<string, ResourceScreen> = {
  workflows: WORKFLOWS,
  'scheduled-agents': SCHEDULES,
  alerts: ALERTS,
  budgets: BUDGETS,
  datasets: DATASETS,
  agents: AGENTS,
  skills: SKILLS,
  guardrails: GUARDRAILS,
  memories: MEMORIES,
  'custom-tools': CUSTOM_TOOLS,
  mcps: MCPS,
  'knowledge-sources': KNOWLEDGE_SOURCES,
  'knowledge-items': KNOWLEDGE_ITEMS,
  providers: PROVIDERS,
  tokens: TOKENS,
  keys: KEYS,
};

import type { ContextPorts } from '../temporal/activities/context.ts';
import type { ExchangePorts } from '../temporal/activities/exchange.ts';
import type { RememberPorts } from '../temporal/activities/remember.ts';
import type { BuiltinPorts } from '../tools/builtin/index.ts';
import type { Core } from './core.ts';
import { outputGuards } from './guardrails.ts';

const NEWEST = 20;
const FITTING = 10;
const PASSAGES = 20;

type Ports = Pick<ContextPorts, 'recall' | 'lookUp'> &
  Pick<RememberPorts, 'remember'> &
  Pick<ExchangePorts, 'judge' | 'holdsBack'>;

/** What runs know besides their prompt, and what becomes of what their models say. */
export function contextPorts({ store, knowledge }: Pick<Core, 'store' | 'knowledge'>): Ports {
  return {
    ...outputGuards,
    async recall({ prompt, workflow_id }, { agent: { id: agent_id } }) {
      const newest = await store.memories.newest(agent_id, { workflow_id, limit: NEWEST });
      if (newest.length < NEWEST) return newest;
      return [...(await store.memories.search({ agent_id, workflow_id, query: prompt, limit: FITTING })), ...newest];
    },
    lookUp: ({ prompt, owner }, { knowledge_source_ids: source_ids = [] }) =>
      knowledge.search({ query: prompt, source_ids, limit: PASSAGES, principal: owner }),
    async remember({ task_id, owner }, { agent: { id: agent_id } }, { key, value }) {
      await store.memories.upsert({ agent_id, scope: 'agent', key, value, task_id, created_by: owner });
    },
  };
}

/** What tools may know. */
export function knowingPorts({
  store,
  knowledge,
}: Pick<Core, 'store' | 'knowledge'>): Pick<BuiltinPorts, 'storeMemory' | 'searchMemory' | 'searchKnowledge'> {
  return {
    async storeMemory({ agent_id, workflow_id, task_id, owner }, memory) {
      await store.memories.upsert({ ...memory, agent_id, workflow_id, task_id, created_by: owner });
    },
    searchMemory: ({ agent_id, workflow_id }, query, limit) => store.memories.search({ agent_id, workflow_id, query, limit }),
    async searchKnowledge({ definition_hash, owner }, query, limit) {
      const { knowledge_source_ids: source_ids = [] } = await store.definitions.get(definition_hash);
      if (source_ids.length === 0) return { items: [], warnings: ['This agent has no knowledge sources'] };
      return knowledge.search({ query, source_ids, limit, principal: owner });
    },
  };
}

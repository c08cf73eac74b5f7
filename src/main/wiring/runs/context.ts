import { getRefusalSentence } from '../../../domain/errors.ts';
import { NEWEST } from '../../../domain/memory.ts';
import type { ContextPorts } from '../../../temporal/activities/context.ts';
import type { ExchangePorts } from '../../../temporal/activities/exchange/attempt.ts';
import type { RememberPorts } from '../../../temporal/activities/remember.ts';
import type { BuiltinPorts } from '../../../tools/builtin/index.ts';
import type { SharedServices } from '../../core.ts';
import { createOutputGuards } from '../guardrails.ts';

const FITTING = 10;
const PASSAGES = 20;

type Ports = Pick<ContextPorts, 'recall' | 'lookUp'> &
  Pick<RememberPorts, 'remember'> &
  Pick<ExchangePorts, 'judge' | 'listOutputErrors' | 'holdsBack'>;

/** Creates the ports for the context of runs besides their prompt, and for the guardrails of their models' text. */
export function contextPorts({
  store,
  knowledge,
  judge,
  quotas,
}: Pick<SharedServices, 'store' | 'knowledge' | 'judge' | 'quotas'>): Ports {
  return {
    ...createOutputGuards(judge),
    async recall({ prompt, workflow_id, owner: viewer }, { agent: { id: agent_id } }) {
      const place = { agent_id, workflow_id, viewer };
      const newest = await store.memories.newest({ ...place, limit: NEWEST });
      if (newest.length < NEWEST) return newest;
      return [...(await store.memories.search({ ...place, query: prompt, limit: FITTING })), ...newest];
    },
    lookUp: ({ prompt, owner, task_id }, { knowledge_source_ids: source_ids = [] }) =>
      knowledge.search({ query: prompt, source_ids, limit: PASSAGES, principal: owner, task_id }),
    async remember({ task_id, owner }, { agent: { id: agent_id } }, { key, value }) {
      const fact = { agent_id, key, value, task_id, created_by: owner, owner };
      const full = await quotas.admitBytes(owner, Buffer.byteLength(value)).then(() => null, getRefusalSentence);
      if (full) return full;
      await store.memories.upsert({ ...fact, scope: 'agent' });
      return null;
    },
  };
}

/** Creates the ports for the information that tools may use. */
export function knowingPorts({
  store,
  knowledge,
  quotas,
}: Pick<SharedServices, 'store' | 'knowledge' | 'quotas'>): Pick<
  BuiltinPorts,
  'storeMemory' | 'searchMemory' | 'searchKnowledge'
> {
  return {
    async storeMemory({ agent_id, workflow_id, task_id, owner }, memory) {
      await quotas.admitBytes(owner, Buffer.byteLength(memory.value));
      await store.memories.upsert({ ...memory, agent_id, workflow_id, task_id, created_by: owner, owner });
    },
    searchMemory: ({ agent_id, workflow_id, owner: viewer }, query, limit) =>
      store.memories.search({ agent_id, workflow_id, viewer, query, limit }),
    async searchKnowledge({ definition_hash, owner, task_id }, query, limit) {
      const { knowledge_source_ids: source_ids = [] } = await store.definitions.get(definition_hash);
      if (source_ids.length === 0) return { items: [], warnings: ['This agent has no knowledge sources'] };
      return knowledge.search({ query, source_ids, limit, principal: owner, task_id });
    },
  };
}

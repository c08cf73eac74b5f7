import type { Agent } from '../contracts/agents.ts';
import type { Provider } from '../contracts/providers.ts';
import { customToolStore } from './custom-tools.ts';
import type { Database } from './database.ts';
import { definitionStore } from './definitions.ts';
import { eventStore } from './events.ts';
import { idempotencyStore } from './idempotency.ts';
import type { KeyRing } from './key-ring.ts';
import { snapshotOf } from './pin.ts';
import { principalStore } from './principals.ts';
import { resource } from './resource.ts';
import { runStore, type Tell } from './runs.ts';
import { taskStore } from './tasks.ts';
import { tokenStore } from './tokens.ts';
import { toolLedger } from './tool-ledger.ts';
import { workflowStore } from './workflows.ts';

export type Store = ReturnType<typeof createStore>;

/** Everything that is kept, one part a resource. `tell` hears of events once they are written. */
export function createStore({ database: { pool, prisma }, keys, tell }: { database: Database; keys: KeyRing; tell?: Tell }) {
  return {
    agents: resource<Agent>(prisma.agent, { noun: 'agent', tagged: false }),
    providers: resource<Provider>(prisma.provider, { noun: 'provider', tagged: false }),
    customTools: customToolStore(prisma),
    tokens: tokenStore({ pool, prisma }, keys),
    workflows: workflowStore({ pool, prisma }),
    tasks: taskStore({ pool, prisma, keys, ...(tell ? { tell } : {}) }),
    runs: runStore(pool, tell),
    ledger: toolLedger(pool, tell),
    definitions: definitionStore(pool),
    events: eventStore(pool),
    principals: principalStore(prisma),
    idempotency: idempotencyStore(prisma),
    snapshot: (workflow_id: string) => snapshotOf(pool, workflow_id),
    /** Of these ids, the ones that a table does not hold. */
    async missing(
      table: 'agent' | 'provider' | 'customTool' | 'skill' | 'guardrail' | 'mcpServer' | 'knowledgeSource',
      ids: string[],
    ) {
      if (ids.length === 0) return [];
      const model = prisma[table] as unknown as { findMany(args: object): Promise<{ id: string }[]> };
      const found = new Set((await model.findMany({ where: { id: { in: ids } }, select: { id: true } })).map(({ id }) => id));
      return ids.filter((id) => !found.has(id));
    },
    async ping(): Promise<void> {
      await pool.query('SELECT 1');
    },
  };
}

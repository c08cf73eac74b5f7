import { LRUCache } from 'lru-cache';
import type { Definition } from '../../../domain/definition.ts';
import { providerDestination } from '../../../domain/destinations.ts';
import type { OpenRun } from '../../../store/runs/runs.ts';
import type { TokenUseFacts } from '../../../store/secrets/tokens.ts';
import type { ExchangePorts } from '../../../temporal/activities/exchange/attempt.ts';
import type { SharedServices } from '../../core.ts';

/** The most runs whose key uses a worker remembers. */
const MOST_KEPT = 1_000;

/** Returns a run's request for a token that its provider names. */
export const keyRequest = (
  { owner, task_id }: Pick<OpenRun, 'owner' | 'task_id'>,
  name: string,
  provider: Parameters<typeof providerDestination>[0],
) => ({ name, principal: owner, destination: providerDestination(provider), task_id });

/**
 * Returns how runs use the keys of their providers. Owner and definition of a run never change, so a worker that makes several of
 * its steps computes this once, and can begin a step with the use of its key before it has loaded the run.
 */
export function keyUses({ store }: Pick<SharedServices, 'store'>): ExchangePorts['keyUses'] {
  const uses = new LRUCache<string, TokenUseFacts>({ max: MOST_KEPT });
  return {
    findKnown: (task_id) => uses.get(task_id) ?? null,
    async of(run: OpenRun, { provider }: Definition) {
      const earlier_use = uses.get(run.task_id);
      if (earlier_use || !provider?.api_key_token_name) return earlier_use ?? null;
      const use = await store.tokens.factsOfUse(keyRequest(run, provider.api_key_token_name, provider));
      uses.set(run.task_id, use);
      return use;
    },
  };
}

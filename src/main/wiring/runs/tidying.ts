import type { Store } from '../../../store/index.ts';
import type { Sweep } from '../../../store/upkeep/retention.ts';
import { sweep } from '../../../temporal/repair/retention.ts';
import { measureSizes } from '../../../temporal/repair/sizes.ts';
import type { Config } from '../../config.ts';
import type { SharedServices } from '../../core.ts';

/** Of one pass; what is left is removed by the next one. */
const WITHIN_MS = 10_000;
/** Between two passes over everything that has ended, once a pass has looked at all of it. */
const REST_MS = 3_600_000;
const SAMPLE_EVERY_MS = 3_600_000;
const DAY_MS = 24 * 3_600_000;

/** Removes what the installation no longer needs, adds what has ended to the usage, and notes the size every hour. Returns how many records of each kind were removed. */
export function createTidying({
  store,
  setting: { config },
}: Pick<SharedServices, 'store' | 'setting'>): () => Promise<Record<string, number>> {
  let rest_until = 0;
  /** Of a pass that has not looked at everything yet. */
  let aged_to: Date | null = null;
  return async () => {
    await store.usage.count();
    await store.retention.makePartitions();
    const now = await store.retention.now();
    const { removed } = await sweep(store.retention.transient(now), WITHIN_MS);
    if (performance.now() >= rest_until) {
      aged_to ??= await store.retention.advanceAgingClock();
      const ended = await sweep(listAgedSweeps(store.retention, config, aged_to), WITHIN_MS);
      Object.assign(removed, ended.removed);
      if (ended.finished) {
        rest_until = performance.now() + REST_MS;
        aged_to = null;
      }
    }
    const last = (await store.sizes.samples()).at(-1);
    if (!last || Date.parse(last.at) <= now.getTime() - SAMPLE_EVERY_MS) {
      await store.sizes.note({ ...(await measureSizes(store, config)), at: now.toISOString() });
    }
    return removed;
  };
}

/** The sweeps that the operator wants, each over what is older than its days. */
export function listAgedSweeps({ ended, audit }: Store['retention'], config: Config, aged_to: Date): Record<string, Sweep> {
  const before = (days: number) => new Date(aged_to.getTime() - days * DAY_MS);
  return {
    ...(config.RETENTION_DAYS > 0 ? ended(before(config.RETENTION_DAYS)) : {}),
    ...(config.AUDIT_RETENTION_DAYS > 0 ? audit(before(config.AUDIT_RETENTION_DAYS)) : {}),
  };
}

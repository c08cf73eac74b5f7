import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../src/main/config.ts';
import { createTidying } from '../../src/main/wiring/runs/tidying.ts';
import type { Sweep, SweepPlace } from '../../src/store/upkeep/retention.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START = Date.UTC(2026, 0, 31, 12);

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'], now: START }));
afterEach(() => void vi.useRealTimers());

/** Lets this much time pass on the clocks of this process. */
const pass = (ms: number) => void vi.advanceTimersByTime(ms);

const PLACE: SweepPlace = { at: new Date(0), id: 'x' };

/** A record with this many batches of old tasks; each takes this long. */
function recordOf({ batches = 1, batch_ms = 0, days = 30, audit_days = 0 } = {}) {
  const swept: string[] = [];
  const samples: { at: string }[] = [];
  const befores: Date[] = [];
  let left = batches;
  let clock = START;
  const tasks: Sweep = async () => {
    pass(batch_ms);
    left -= 1;
    swept.push('tasks');
    return { removed: 7, next: left > 0 ? PLACE : null };
  };
  const keys: Sweep = async () => {
    swept.push('keys');
    return { removed: 3, next: null };
  };
  const noted: string[] = [];
  const store = {
    usage: { count: async () => void noted.push('usage') },
    retention: {
      makePartitions: async () => void noted.push('partitions'),
      now: async () => new Date(),
      transient: () => ({ keys }),
      async advanceAgingClock() {
        clock += HOUR_MS;
        return new Date(clock);
      },
      ended(before: Date) {
        befores.push(before);
        return { tasks };
      },
      audit(before: Date) {
        befores.push(before);
        return { audit: keys };
      },
    },
    sizes: {
      samples: async () => samples,
      note: async (sample: { at: string }) => void samples.push(sample),
      database: async () => 7,
    },
  };
  const config = readConfig({
    RETENTION_DAYS: `${days}`,
    AUDIT_RETENTION_DAYS: `${audit_days}`,
    PERDURA_HOME: '/nowhere/at/all',
  });
  return { tidy: createTidying({ store, setting: { config } } as never), swept, samples, befores, noted };
}

describe('each look after the record', () => {
  it('counts usage, makes partitions and removes what every installation removes', async () => {
    const { tidy, noted, swept } = recordOf({ days: 0 });
    expect(await tidy()).toEqual({ keys: 3 });
    expect(await tidy()).toEqual({ keys: 3 });
    expect(noted).toEqual(['usage', 'partitions', 'usage', 'partitions']);
    expect(swept).toEqual(['keys', 'keys']);
  });

  it('removes what is old once an hour, by the age that it has then', async () => {
    const { tidy, swept, befores } = recordOf({ batches: 1, days: 3 });
    expect(await tidy()).toEqual({ keys: 3, tasks: 7 });
    pass(HOUR_MS - 1);
    await tidy();
    expect(swept.filter((name) => name === 'tasks')).toHaveLength(1);
    pass(1);
    await tidy();
    expect(swept.filter((name) => name === 'tasks')).toHaveLength(2);
    expect(befores.map((before) => before.getTime())).toEqual([START + HOUR_MS - 3 * DAY_MS, START + 2 * HOUR_MS - 3 * DAY_MS]);
  });

  it('removes the audit by its own age, whether or not runs are removed', async () => {
    const { tidy, befores } = recordOf({ days: 0, audit_days: 11 });
    expect(await tidy()).toEqual({ keys: 3, audit: 3 });
    expect(befores.map((before) => before.getTime())).toEqual([START + HOUR_MS - 11 * DAY_MS]);
  });

  it('continues at once, at the same age, with what it had no time for', async () => {
    const { tidy, befores } = recordOf({ batches: 2, batch_ms: 11_000 });
    expect(await tidy()).toEqual({ keys: 3, tasks: 7 });
    expect(await tidy()).toEqual({ keys: 3, tasks: 7 });
    expect(new Set(befores.map((before) => before.getTime())).size).toBe(1);
    expect(await tidy()).toEqual({ keys: 3 });
  });

  it('notes the sizes once an hour', async () => {
    const { tidy, samples } = recordOf({ days: 0 });
    await tidy();
    pass(HOUR_MS - 1);
    await tidy();
    expect(samples).toHaveLength(1);
    pass(1);
    await tidy();
    expect(samples.map(({ at }) => at)).toEqual([new Date(START).toISOString(), new Date(START + HOUR_MS).toISOString()]);
    expect(samples[0]).toMatchObject({ database: 7 });
  });
});

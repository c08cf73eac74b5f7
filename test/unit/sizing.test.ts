import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateSizing, estimateTextRows, LOAD_LIMITS, type Load, type Sizing } from '../../src/domain/sizing.ts';
import * as cost from '../../src/domain/sizing-costs.ts';

const CLI = fileURLToPath(new URL('../../src/main/cli.ts', import.meta.url));
const NOTHING: Load = {
  ...{ runs_per_second: 0, streams: 0, steps: 3, calls: 2, tokens_per_second: 40, readers: 1, parked: 0, retention_days: 30 },
};
const FIELDS = Object.keys(LOAD_LIMITS) as (keyof Load)[];

/** Every amount that must not fall when a load grows: all but the memory of one of several processes. */
function amounts({ api, worker, postgres, temporal, redis, next_split }: Sizing): Record<string, number> {
  return {
    ...{ api_processes: api.processes, api_cores: api.cores, workers: worker.processes, worker_cores: worker.cores },
    ...{ ...postgres, temporal_cores: temporal.cores, shards: temporal.history_shards, temporal_disk: temporal.disk_gb },
    ...{ redis: redis.servers, redis_cores: redis.cores, share: next_split.share },
  };
}

const within = (field: keyof Load) => {
  const [least, most] = LOAD_LIMITS[field];
  // Most loads are small next to the limits.
  return fc.oneof(fc.double({ min: least, max: most, noNaN: true }), fc.integer({ min: least, max: Math.min(most, 200) }));
};
const anyLoad = fc.record(Object.fromEntries(FIELDS.map((field) => [field, within(field)]))) as unknown as fc.Arbitrary<Load>;

describe('the size of an installation', () => {
  it.each(FIELDS)('never falls when %s grows, and is always a number', (field) => {
    fc.assert(
      fc.property(anyLoad, within(field), (load, other) => {
        const [small, large] = [Math.min(load[field], other), Math.max(load[field], other)];
        const less = amounts(estimateSizing({ ...load, [field]: small }));
        const more = amounts(estimateSizing({ ...load, [field]: large }));
        expect(Object.entries(less)).not.toEqual([]);
        for (const [name, amount] of Object.entries(less)) {
          expect(Number.isFinite(amount), name).toBe(true);
          expect(more[name], name).toBeGreaterThanOrEqual(amount);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('without a load is one process of each kind, which need no time', () => {
    expect(estimateSizing(NOTHING)).toMatchObject({
      api: { processes: 1, cores: 0 },
      worker: { processes: 1, cores: 0 },
      postgres: { cores: 0, disk_gb: 0, statements_per_second: 0 },
      temporal: { cores: 0, history_shards: 4, disk_gb: 0 },
      redis: { servers: 0 },
    });
  });

  it('adds up to the run that was measured: three steps, two calls of Python tools', () => {
    const { api, worker, postgres, temporal } = estimateSizing({ ...NOTHING, runs_per_second: 100 });
    const ms = (cores: number) => (cores * cost.USED_SHARE * 1_000) / 100;
    // Node 48 and Postgres 10 to 13 ms of CPU with its text, which counts as a stream; Temporal on Postgres 104 to 170.
    expect(ms(api.cores + worker.cores)).toBeGreaterThan(45);
    expect(ms(api.cores + worker.cores)).toBeLessThan(49);
    expect(ms(postgres.cores)).toBeGreaterThan(10);
    expect(ms(postgres.cores)).toBeLessThan(13);
    expect(ms(temporal.cores)).toBeCloseTo(170.5, 0);
    expect(postgres.statements_per_second).toBe(1_800);
  });

  it('follows how workers write texts: 50 ms apart, later with many runs, and never more often than tokens come', () => {
    expect(estimateTextRows({ streams: 30, workers: 1, tokens_per_second: 40 })).toEqual({ pause_ms: 50, rows_per_second: 600 });
    expect(estimateTextRows({ streams: 100, workers: 1, tokens_per_second: 40 })).toEqual({
      pause_ms: 100,
      rows_per_second: 1_000,
    });
    expect(estimateTextRows({ streams: 1_000, workers: 10, tokens_per_second: 40 })).toEqual({
      pause_ms: 100,
      rows_per_second: 10_000,
    });
    expect(estimateTextRows({ streams: 9_000, workers: 10, tokens_per_second: 40 })).toEqual({
      pause_ms: 150,
      rows_per_second: 60_000,
    });
    expect(estimateTextRows({ streams: 30, workers: 1, tokens_per_second: 2 }).rows_per_second).toBe(60);
  });

  it('of a thousand streams: Redis, several workers and APIs, and more than four shards', () => {
    const { api, worker, redis, temporal, postgres } = estimateSizing({ ...NOTHING, streams: 1_000, runs_per_second: 5 });
    expect(worker.processes).toBeGreaterThan(4);
    expect(api.processes).toBeGreaterThan(0);
    expect(redis.servers).toBe(1);
    expect(temporal.history_shards).toBe(512);
    expect(postgres.connections).toBe((worker.processes + api.processes) * 22);
  });

  it('has a slot for each of many slow answers', () => {
    const { worker } = estimateSizing({ ...NOTHING, streams: 5_000, tokens_per_second: 0.5 });
    expect(worker.processes).toBe(5_000 / cost.STREAMS_PER_WORKER);
    expect(worker.cores).toBeLessThan(worker.processes);
  });

  it('names what is to be split next, with its share of the limit', () => {
    expect(estimateSizing({ ...NOTHING, runs_per_second: 60 }).next_split).toMatchObject({ part: 'temporal' });
    expect(estimateSizing({ ...NOTHING, streams: 10_000, readers: 0 }).next_split.share).toBeGreaterThan(0.3);
  });
});

const size = (...args: string[]) => spawnSync(process.execPath, [CLI, 'size', ...args], { encoding: 'utf8' });

describe('perdura size', () => {
  it('prints a line for each part, or everything as JSON', () => {
    const { stdout } = size('--runs-per-second', '5', '--streams', '100');
    expect(stdout.split('\n').map((line) => line.slice(0, 15).trim())).toEqual([
      ...['API', 'Workers', 'Postgres', 'Temporal', 'Redis', 'Next to split', ''],
    ]);
    const load = { ...NOTHING, runs_per_second: 5, streams: 100 };
    expect(JSON.parse(size('--runs-per-second', '5', '--streams', '100', '--json').stdout)).toEqual({
      load,
      ...estimateSizing(load),
    });
  });

  it.each([
    [[], 'Name the load: perdura size --runs-per-second N --streams N; --help lists the other options'],
    [['--streams', 'x'], '--streams must be a number from 0 to 10000, not x'],
    [['--streams', '10001'], '--streams must be a number from 0 to 10000, not 10001'],
    [['--runs-per-second='], '--runs-per-second must be a number from 0 to 10000, not empty'],
    [['--runs-per-second=-1'], '--runs-per-second must be a number from 0 to 10000, not -1'],
    [['--steps', '0'], '--steps must be a number from 1 to 10000, not 0'],
    [['--retention-days', 'Infinity'], '--retention-days must be a number from 0 to 36500, not Infinity'],
  ])('refuses %j with one sentence', (args, sentence) => {
    const { status, stderr, stdout } = size(...args);
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: `perdura size: ${sentence}\n` });
  });

  it('names an option that it does not have', () => {
    expect(size('--stream', '5').stderr).toMatch(/^perdura size: Unknown option '--stream'/);
  });
});

import * as cost from './sizing-costs.ts';

/** What an installation is to carry. */
export interface Load {
  runs_per_second: number;
  /** Answers that are being spoken at the same moment. */
  streams: number;
  /** Model calls of a run. */
  steps: number;
  /** Tool calls of a run. */
  calls: number;
  /** Of one answer. */
  tokens_per_second: number;
  /** Who follow each answer. */
  readers: number;
  /** Runs that wait for a person. */
  parked: number;
  /** How long an ended run is kept. */
  retention_days: number;
}

interface Processes {
  processes: number;
  cores: number;
  /** Of each. */
  memory_mb: number;
}

/** What the load needs. Cores include the unused share. */
export interface Sizing {
  api: Processes;
  worker: Processes;
  postgres: { cores: number; connections: number; memory_mb: number; disk_gb: number; statements_per_second: number };
  temporal: { cores: number; history_shards: number; disk_gb: number };
  redis: { servers: 0 | 1; cores: number };
  /** The part that reaches its limit first, and how much of the limit this load takes. */
  next_split: { part: Part; share: number; how: string };
}

const PARTS = ['postgres', 'connections', 'temporal', 'redis'] as const;
type Part = (typeof PARTS)[number];

const HOW: Record<Part, string> = {
  postgres: 'Postgres: move the events of text to a separate database, then divide workflows between installations',
  connections: 'Postgres connections: lower DATABASE_POOL_SIZE, then put a pooler in front of it',
  temporal: 'Temporal: put its database on a separate server, then divide workflows between namespaces',
  redis: 'Redis: divide the installation, because one server carries all its events',
};

/** Limits of each field of a load, with both ends allowed. The streams end where the costs were last compared with a measurement. */
export const LOAD_LIMITS: Record<keyof Load, readonly [least: number, most: number]> = {
  runs_per_second: [0, 10_000],
  streams: [0, 10_000],
  steps: [1, 10_000],
  calls: [0, 10_000],
  tokens_per_second: [0, 1_000],
  readers: [0, 1_000],
  parked: [0, 10_000_000],
  retention_days: [0, 36_500],
};

const SECONDS_PER_DAY = 86_400;
const ms_to_cores = (ms_per_second: number) => ms_per_second / 1_000 / cost.USED_SHARE;
const roundUp = (value: number, digits = 1) => Math.max(0, Math.ceil(value * 10 ** digits - 1e-9)) / 10 ** digits;
const countProcesses = (cores: number, others: readonly number[]) =>
  Math.max(1, Math.ceil(cores / cost.CORES_PER_PROCESS - 1e-9), ...others.map(Math.ceil));

/** How often each of the streams of so many workers writes its text, and how many rows that makes. */
export function estimateTextRows({
  streams,
  workers,
  tokens_per_second,
}: Pick<Load, 'streams' | 'tokens_per_second'> & { workers: number }) {
  const { least, most, per_stream } = cost.PAUSE_MS;
  const pause_ms = Math.min(most, Math.max(least, (streams / workers) * per_stream));
  // An answer slower than the pause has a row for each token.
  return { pause_ms, rows_per_second: Math.min((streams * 1_000) / pause_ms, streams * tokens_per_second) };
}

/** What rows of text cost Postgres in a second: each worker writes those of its runs at the same moments, in as few statements as it can. */
export function estimateTextWriting({ rows, workers }: { rows: number; workers: number }): { statements: number; ms: number } {
  const moments = (workers * 1_000) / cost.PAUSE_MS.least;
  const statements = Math.max(rows / cost.TEXTS_PER_STATEMENT, Math.min(rows, moments));
  return { statements, ms: rows * cost.TEXT_POSTGRES_MS + statements * cost.STATEMENT_POSTGRES_MS };
}

/** Workers, and the rows of text that they write each second. */
function sizeWorkers({ streams, tokens_per_second }: Load, run_ms: number) {
  const estimateCores = (rows: number) =>
    ms_to_cores(run_ms + streams * tokens_per_second * cost.TOKEN_WORKER_MS + rows * cost.TEXT_WORKER_MS);
  // With the most rows, so that more workers, whose texts are shorter, do not need more again.
  const { rows_per_second: most } = estimateTextRows({ streams, workers: streams || 1, tokens_per_second });
  const processes = countProcesses(estimateCores(most), [streams / cost.STREAMS_PER_WORKER]);
  const { rows_per_second: rows } = estimateTextRows({ streams, workers: processes, tokens_per_second });
  return { rows, processes, cores: estimateCores(rows) };
}

/** What a run has in common with others of the same steps and calls, by a cost of each. */
const sumRunCosts = ({ steps, calls }: Load, { run, step, call }: { run: number; step: number; call: number }) =>
  run + steps * step + calls * call;

function sizePostgres(load: Load, { rows, workers, api }: { rows: number; workers: number; api: number }): Sizing['postgres'] {
  const { runs_per_second: rate, retention_days, parked, readers } = load;
  const run_ms = sumRunCosts(load, { run: cost.RUN_POSTGRES_MS, step: cost.STEP_POSTGRES_MS, call: cost.CALL_POSTGRES_MS });
  const run_events = sumRunCosts(load, { run: cost.RUN_EVENTS, step: cost.STEP_EVENTS, call: cost.CALL_EVENTS });
  const run_statements = sumRunCosts(load, { run: cost.RUN_STATEMENTS, step: cost.STEP_STATEMENTS, call: cost.CALL_STATEMENTS });
  const kept = rate * SECONDS_PER_DAY * retention_days + parked;
  const bytes = kept * run_events * cost.EVENT_BYTES + rows * SECONDS_PER_DAY * cost.TEXT_DAYS * cost.TEXT_BYTES;
  const connections = (workers + api) * cost.CONNECTIONS_PER_PROCESS;
  return {
    cores: roundUp(
      ms_to_cores(rate * run_ms + estimateTextWriting({ rows, workers }).ms + rows * readers * cost.TEXT_READER_POSTGRES_MS),
    ),
    connections,
    memory_mb: 1_024 + connections * cost.CONNECTION_MB,
    disk_gb: roundUp(bytes / 1e9),
    statements_per_second: Math.ceil(rate * run_statements + estimateTextWriting({ rows, workers }).statements),
  };
}

function sizeTemporal({ runs_per_second: rate, steps, calls, parked }: Load, workers: number): Sizing['temporal'] {
  const activities = steps + calls;
  const transitions = rate * (cost.RUN_TRANSITIONS + activities * cost.ACTIVITY_TRANSITIONS);
  const least = workers > 1 ? cost.SHARDS.of_a_fleet : cost.SHARDS.least;
  const runs = rate * SECONDS_PER_DAY * cost.ENGINE_DAYS + parked;
  return {
    cores: roundUp(ms_to_cores(rate * (cost.RUN_TEMPORAL_MS + activities * cost.ACTIVITY_TEMPORAL_MS))),
    history_shards: Math.max(least, 2 ** Math.ceil(Math.log2(Math.max(1, transitions / cost.TRANSITIONS_PER_SHARD)))),
    disk_gb: roundUp((runs * (cost.RUN_TEMPORAL_BYTES + activities * cost.ACTIVITY_TEMPORAL_BYTES)) / 1e9),
  };
}

function nextSplit({ postgres, temporal, redis }: Pick<Sizing, 'postgres' | 'temporal' | 'redis'>): Sizing['next_split'] {
  const shares: Record<Part, number> = {
    postgres: postgres.cores / cost.LARGEST_SERVER_CORES,
    connections: postgres.connections / cost.LARGEST_CONNECTIONS,
    temporal: temporal.cores / cost.LARGEST_SERVER_CORES,
    redis: redis.cores / cost.CORES_PER_PROCESS,
  };
  const part = PARTS.reduce((first, other) => (shares[other] > shares[first] ? other : first));
  return { part, share: roundUp(shares[part], 2), how: HOW[part] };
}

/** What a load within LOAD_LIMITS needs. A larger load never needs less. */
export function estimateSizing(load: Load): Sizing {
  const { runs_per_second: rate, streams, readers, parked } = load;
  const run_ms = sumRunCosts(load, { run: cost.RUN_WORKER_MS, step: cost.STEP_WORKER_MS, call: cost.CALL_WORKER_MS });
  const { rows, processes: workers, cores } = sizeWorkers(load, rate * run_ms);
  const api_cores = ms_to_cores(rate * cost.RUN_API_MS + rows * readers * cost.TEXT_READER_API_MS);
  const open = streams * readers;
  const api = countProcesses(api_cores, [open / cost.READERS_PER_API]);
  const needs_redis = streams > cost.STREAMS_WITHOUT_REDIS || api > 2;
  const parts = {
    postgres: sizePostgres(load, { rows, workers, api }),
    temporal: sizeTemporal(load, workers),
    redis: needs_redis
      ? { servers: 1 as const, cores: roundUp(ms_to_cores(rows * cost.TEXT_REDIS_MS), 2) }
      : { servers: 0 as const, cores: 0 },
  };
  return {
    api: { processes: api, cores: roundUp(api_cores), memory_mb: Math.ceil(cost.API_MB + (open / api) * cost.READER_MB) },
    worker: {
      processes: workers,
      cores: roundUp(cores),
      memory_mb: Math.ceil(cost.WORKER_MB + (parked / workers) * cost.PARKED_WORKER_MB),
    },
    ...parts,
    next_split: nextSplit(parts),
  };
}

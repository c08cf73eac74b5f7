import { statement } from '../database/statement.ts';

/** The number of tasks that one statement adds. */
export const USAGE_BATCH = 500;

/** Takes the turn: one process at a time adds tasks. Another one waits, so that it reads what the first one has added. */
export const takeUsageTurn = statement('take_usage_turn', [], `SELECT pg_advisory_xact_lock(7215011841)`);

/** Adds the next ended tasks to the usage tables. A task that is being deleted is added by its deletion. */
export const countUsage = statement(
  'count_usage',
  [],
  `WITH next AS MATERIALIZED (
      SELECT id FROM tasks WHERE completed_at IS NOT NULL AND NOT usage_counted ORDER BY completed_at, id LIMIT ${USAGE_BATCH}
      FOR NO KEY UPDATE SKIP LOCKED),
    counted AS (UPDATE tasks t SET usage_counted = true FROM next WHERE t.id = next.id RETURNING t.id)
    SELECT coalesce(array_agg(id), '{}') AS ids FROM counted`,
);

export const addToUsage = statement('add_to_usage', ['task_ids'], `SELECT add_usage(:task_ids::uuid[])`);

/** The groups of usage: the key of each, and the label under which people know it. */
const GROUPS = {
  none: { key: `''`, label: 'NULL::text' },
  agent: { key: 'agent_id::text', label: '(SELECT name FROM agents WHERE id::text = key)' },
  workflow: {
    // Null for runs without their own workflow.
    key: `nullif(workflow_id, '00000000-0000-0000-0000-000000000000')::text`,
    label: '(SELECT coalesce(w.title, a.name) FROM workflows w LEFT JOIN agents a ON a.id = w.agent_id WHERE w.id::text = key)',
  },
  model: { key: 'model', label: `nullif(key, '')` },
  provider: { key: 'provider_id', label: '(SELECT name FROM providers WHERE id::text = key)' },
  owner: { key: 'owner', label: '(SELECT login FROM principals WHERE id = key)' },
  trigger: { key: 'trigger', label: 'key' },
} as const;
export type UsageGroup = keyof typeof GROUPS;

/** The rows of usage_runs in which each run counts once for its group. */
const listCounting = (group: UsageGroup) =>
  `counts_for IN ('all', '${group === 'model' || group === 'provider' ? group : 'run'}')`;

/** The cost of a group; null instead of zero if nothing of it is known. */
const SHOWN_COST = 'CASE WHEN unpriced = 0 OR shown.cost > 0 THEN shown.cost END';

/**
 * Returns the usage by group. Without `owner` it covers everybody; without `interval` it has one row a group. Groups beyond the
 * `most` largest are combined into one without a key.
 */
const buildUsageStatement = (group: UsageGroup) =>
  statement(
    `usage_by_${group}`,
    ['from', 'to', 'owner', 'interval', 'zone', 'most'],
    `WITH found AS MATERIALIZED (
        SELECT ${GROUPS[group].key} AS key, date_trunc(:interval::text, hour, :zone::text) AS at,
          sum(runs)::int AS runs, sum(completed)::int AS completed, sum(failed)::int AS failed, sum(halted)::int AS halted,
          sum(total_in)::float8 AS total_in, sum(total_out)::float8 AS total_out, sum(cache_read)::float8 AS cache_read,
          sum(cache_write)::float8 AS cache_write, sum(premium_requests)::float8 AS premium_requests, sum(cost) AS cost, sum(estimated)::int AS estimated,
          sum(unpriced)::int AS unpriced
        FROM usage_runs WHERE ${listCounting(group)} AND hour >= :from::timestamptz AND hour < :to::timestamptz AND (:owner::text IS NULL OR owner = :owner::text)
        GROUP BY 1, 2),
      largest AS (SELECT key FROM found WHERE key IS NOT NULL GROUP BY key ORDER BY sum(cost) DESC, sum(runs) DESC, key LIMIT :most)
      SELECT key, ${GROUPS[group].label} AS label, at,
        runs, completed, failed, halted, estimated, total_in, total_out, cache_read, cache_write, premium_requests,
        ${SHOWN_COST} AS cost, unpriced
      FROM (
        SELECT CASE WHEN key IN (SELECT key FROM largest) THEN key END AS key, at, sum(runs)::int AS runs,
          sum(completed)::int AS completed, sum(failed)::int AS failed, sum(halted)::int AS halted, sum(total_in) AS total_in,
          sum(total_out) AS total_out, sum(cache_read) AS cache_read, sum(cache_write) AS cache_write,
          sum(premium_requests) AS premium_requests, sum(cost) AS cost, sum(estimated)::int AS estimated,
          sum(unpriced)::int AS unpriced
        FROM found GROUP BY 1, 2) AS shown
      ORDER BY at, shown.cost DESC, runs DESC, key`,
  );

export const spentBy = Object.fromEntries(
  (Object.keys(GROUPS) as UsageGroup[]).map((group) => [group, buildUsageStatement(group)]),
) as Record<UsageGroup, ReturnType<typeof buildUsageStatement>>;

/** Returns a percentile. A duration is stored as its class, which is 10 % wide: the middle of the class is at most 5 % off. */
const buildPercentile = (share: number) =>
  `round(power(1.1, min(duration_class) FILTER (WHERE upto >= ${share} * total) - 0.5))::float8`;

export const usageOfCalls = statement(
  'usage_of_calls',
  ['kind', 'from', 'to', 'owner', 'most'],
  `WITH found AS (
      SELECT name, duration_class, sum(calls) AS calls, sum(failed) AS failed, sum(total_in) AS total_in, sum(total_out) AS total_out,
        sum(cost) AS cost, sum(unpriced) AS unpriced
      FROM usage_calls
      WHERE kind = :kind AND hour >= :from::timestamptz AND hour < :to::timestamptz AND (:owner::text IS NULL OR owner = :owner::text)
      GROUP BY 1, 2),
    ranked AS (
      SELECT *, sum(calls) OVER (PARTITION BY name ORDER BY duration_class) AS upto, sum(calls) OVER (PARTITION BY name) AS total
      FROM found)
    SELECT name, sum(calls)::int AS calls, sum(failed)::int AS failed, ${buildPercentile(0.5)} AS p50_ms, ${buildPercentile(0.95)} AS p95_ms,
      ${buildPercentile(0.99)} AS p99_ms, sum(total_in)::float8 AS total_in, sum(total_out)::float8 AS total_out,
      CASE WHEN sum(unpriced) = 0 OR sum(cost) > 0 THEN sum(cost) END AS cost, sum(unpriced)::int AS unpriced
    FROM ranked GROUP BY name ORDER BY calls DESC, name LIMIT :most`,
);

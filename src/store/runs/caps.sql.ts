import { statement } from '../database/statement.ts';
import { HELD_OF, MOST, OF_TASK, PRESENT, SPENT_OF } from './caps-parts.ts';
import { LIVE } from './runs.sql.ts';

const EXPECTED = ['least_cost', 'cost', 'least_tokens', 'tokens'] as const;
const AMOUNTS = ':least_cost::float8, :cost::float8, :least_tokens::float8, :tokens::float8, :lease_seconds::float8';

/**
 * Reserves a call of a step. Returns no row if another attempt owns the step, or the task has ended. The step is locked, so that no
 * attempt begins that this one could take a reservation from.
 */
export const reserveForStep = statement(
  'reserve_for_step',
  ['reservation', 'task_id', 'step', 'attempt', ...EXPECTED, 'lease_seconds'],
  `WITH mine AS (
      SELECT task_id FROM task_steps WHERE task_id = :task_id AND step = :step AND attempts = :attempt AND ended_at IS NULL FOR SHARE)
    SELECT reserve_budgets(:reservation::uuid, t.id, true, ${OF_TASK}, ${AMOUNTS}) AS answer
    FROM mine JOIN tasks t ON t.id = mine.task_id AND t.status IN (${LIVE})`,
);

/** Reserves a call that a run makes apart from its steps, and does not wait for. It replaces no other reservation. */
export const reserveAside = statement(
  'reserve_aside',
  ['reservation', 'task_id', ...EXPECTED, 'lease_seconds'],
  `SELECT reserve_budgets(:reservation::uuid, :reservation::uuid, false, ${OF_TASK}, ${AMOUNTS}) AS answer FROM tasks t WHERE t.id = :task_id`,
);

export const releaseReservation = statement(
  'release_reservation',
  ['reservation'],
  `DELETE FROM budget_reservations r USING (
      SELECT id, budget_id FROM budget_reservations WHERE id = :reservation::uuid FOR NO KEY UPDATE SKIP LOCKED) mine
    WHERE r.id = mine.id AND r.budget_id = mine.budget_id RETURNING 1 AS ok`,
);

export const prolongReservations = statement(
  'prolong_reservations',
  ['reservations', 'lease_seconds'],
  `UPDATE budget_reservations r SET alive_until = clock_timestamp() + make_interval(secs => :lease_seconds::float8)
    FROM (SELECT id, budget_id FROM budget_reservations WHERE id = ANY (:reservations::uuid[]) FOR NO KEY UPDATE SKIP LOCKED) mine
    WHERE r.id = mine.id AND r.budget_id = mine.budget_id`,
);

/*
 * These statements lock reservations and waits without the budget_periods that functions lock before them, so they skip what is locked:
 * a statement that waits for nothing takes part in no deadlock.
 */

/** Removes what lost calls had reserved, the waits of runs that have ended or wait because their record is behind, and periods that ended 40 days ago. */
export const sweepCaps = statement(
  'sweep_caps',
  [],
  `WITH lost AS (
      DELETE FROM budget_reservations r USING (
        SELECT id, budget_id FROM budget_reservations WHERE alive_until < now() FOR NO KEY UPDATE SKIP LOCKED) d
      WHERE r.id = d.id AND r.budget_id = d.budget_id RETURNING 1),
    over AS (
      DELETE FROM budget_waits w USING (
        SELECT task_id FROM budget_waits o WHERE NOT EXISTS (SELECT FROM tasks t WHERE t.id = o.task_id AND t.status IN (${LIVE})
            AND t.record_behind IS NULL)
        FOR NO KEY UPDATE SKIP LOCKED) d
      WHERE w.task_id = d.task_id RETURNING 1),
    old AS (
      DELETE FROM budget_periods p USING (
        SELECT budget_id, starts_at FROM budget_periods WHERE ends_at < now() - interval '40 days' FOR NO KEY UPDATE SKIP LOCKED) d
      WHERE p.budget_id = d.budget_id AND p.starts_at = d.starts_at RETURNING 1)
    SELECT (SELECT count(*) FROM lost)::int AS lost, (SELECT count(*) FROM old)::int AS old, (SELECT count(*) FROM over)::int AS over`,
);

/**
 * Notes the runs that wait for a budget and fit it now as asked to try again, and returns them. The longest waiting come first, as many
 * as there is room for; the first alone gets what is left if that is enough for the least. Runs that could not continue now, or did not when
 * asked, hold up nobody: as in reserve_budgets. A run whose limit was lowered below what it needs is asked, too, and fails.
 */
export const raiseWaiting = statement(
  'raise_waiting',
  [],
  `WITH waits AS (
      SELECT w.task_id, w.since, b.id AS budget, ${MOST} AS most, ${MOST} - ${SPENT_OF} AS left_over, ${HELD_OF} AS held, held.calls, w.least, w.expected,
        w.reason <> 'unpriced' AND (w.raised_at IS NULL OR w.raised_at > now() - interval '1 minute' OR t.status = 'waiting') AS may_go,
        t.status = 'waiting' AND (w.raised_at IS NULL OR w.raised_at < now() - interval '1 minute') AS is_due
      FROM budget_waits w JOIN tasks t ON t.id = w.task_id AND t.status IN (${LIVE}) AND t.record_behind IS NULL
        LEFT JOIN (budgets b ${PRESENT}) ON b.id = w.budget_id),
    able AS (
      SELECT *, sum(least(expected, left_over)) OVER line AS needed, row_number() OVER line AS place
      FROM waits WHERE may_go AND left_over > 0 AND least <= left_over
      WINDOW line AS (PARTITION BY budget ORDER BY since, task_id)),
    fits AS (
      SELECT task_id FROM waits WHERE is_due AND (budget IS NULL OR least > most)
      UNION ALL SELECT task_id FROM able WHERE is_due AND (needed <= left_over - held OR place = 1 AND calls = 0)),
    free AS (
      SELECT w.task_id FROM budget_waits w JOIN fits ON fits.task_id = w.task_id FOR NO KEY UPDATE OF w SKIP LOCKED)
    UPDATE budget_waits w SET raised_at = now() FROM free WHERE w.task_id = free.task_id RETURNING w.task_id`,
);

/** Returns the runs that wait because a model had no price for a budget in dollars, together if the same decides about their prices. */
export const listUnpricedWaits = statement(
  'list_unpriced_waits',
  [],
  `SELECT t.definition_hash, coalesce((t.fallback ->> 'position')::int, 0) AS position, t.unpriced_models, array_agg(t.id::text ORDER BY w.since) AS task_ids
    FROM budget_waits w JOIN tasks t ON t.id = w.task_id AND t.status = 'waiting' WHERE w.reason = 'unpriced'
    GROUP BY 1, 2, 3`,
);

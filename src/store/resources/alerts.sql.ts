import { statement } from '../database/statement.ts';
import { MOST, PRESENT, SPENT_OF } from '../runs/caps-parts.ts';
import { LIVE } from '../runs/runs.sql.ts';

/** Lets one process at a time measure, so that a change is recorded and announced once. */
export const takeAlertTurn = statement('take_alert_turn', [], `SELECT pg_try_advisory_xact_lock(7215011842) AS taken`);

const RUNS = 't.owner = a.owner AND (a.workflow_id IS NULL OR t.workflow_id = a.workflow_id)';
const SINCE = `now() - make_interval(mins => a.window_minutes)`;
const ENDED = `tasks t WHERE ${RUNS} AND t.completed_at > ${SINCE}`;
/** Includes runs that have not ended. */
const ACTIVE = `${RUNS} AND (t.completed_at > ${SINCE} OR t.status IN (${LIVE}))`;

const MEASURES = {
  failure_rate: `SELECT CASE WHEN count(*) >= a.min_runs THEN 100.0 * count(*) FILTER (WHERE t.status = 'failed') / count(*) ELSE 0 END
    FROM ${ENDED} AND t.status IN ('completed', 'failed')`,
  spend: `SELECT coalesce(sum(s.cost), 0) FROM tasks t JOIN task_steps s ON s.task_id = t.id
    WHERE ${ACTIVE} AND s.step >= coalesce(t.fork_step, 0) AND coalesce(s.ended_at, s.started_at) > ${SINCE}`,
  // A run that waits has been silent since its last change of state.
  waiting: `SELECT coalesce(max(extract(epoch FROM now() - w.since)) / 60, 0)
    FROM tasks t CROSS JOIN LATERAL (SELECT e.timestamp AS since FROM events e WHERE e.task_id = t.id AND e.type = 'status'
      ORDER BY e.seq DESC LIMIT 1) AS w WHERE ${RUNS} AND t.status = 'waiting'`,
  provider_errors: `SELECT coalesce(sum(s.errors), 0) FROM tasks t JOIN task_steps s ON s.task_id = t.id
    WHERE ${ACTIVE} AND s.step >= coalesce(t.fork_step, 0) AND s.started_at > ${SINCE}`,
  backlog: `SELECT count(*) FROM tasks t WHERE ${RUNS} AND t.status = 'pending'`,
  // A call that does not fit is not made, so a budget that is used up may never be spent to the last cent.
  budget: `SELECT greatest(100.0 * ${SPENT_OF} / ${MOST}, CASE WHEN EXISTS (SELECT FROM budget_waits s WHERE s.budget_id = b.id
        AND s.reason = 'exhausted' AND s.since >= present.starts_at AND s.least > ${MOST} - ${SPENT_OF}) THEN 100 END)
    FROM budgets b ${PRESENT} WHERE b.id = a.budget_id AND (b.owner IS NULL OR a.owner IN (b.owner, b.created_by))`,
};

export const measureAlerts = statement(
  'measure_alerts',
  [],
  `SELECT a.id, a.name, a.measure, a.threshold, a.window_minutes, a.workflow_id, a.budget_id, a.webhook_url, a.channels, a.state,
      to_char(a.state_since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS state_since,
      coalesce(a.muted_until > now(), false) AS muted,
      coalesce(CASE a.measure ${Object.entries(MEASURES)
        .map(([measure, sql]) => `WHEN '${measure}' THEN (${sql})`)
        .join(' ')} END, 0)::float8 AS value
    FROM alerts a WHERE a.enabled ORDER BY a.id FOR NO KEY UPDATE OF a`,
);

/** Writes the measured values, the changes, and the messages about them. Keeps only the newest events of each changed alert. */
export const noteAlerts = statement(
  'note_alerts',
  ['measured', 'changes', 'kept'],
  `WITH measured AS (SELECT * FROM jsonb_to_recordset(:measured::jsonb) AS m (id uuid, value float8)),
    changes AS (
      SELECT * FROM jsonb_to_recordset(:changes::jsonb)
        AS c (event_id uuid, alert_id uuid, state text, value float8, threshold float8, muted boolean, payload jsonb, deliveries jsonb)),
    noted AS (
      UPDATE alerts a SET last_value = m.value, measured_at = now(), state = coalesce(c.state, a.state),
        state_since = CASE WHEN c.state IS NULL THEN a.state_since ELSE now() END
      FROM measured m LEFT JOIN changes c ON c.alert_id = m.id WHERE a.id = m.id),
    written AS (
      INSERT INTO alert_events (id, alert_id, state, value, threshold, muted)
      SELECT event_id, alert_id, state, value, threshold, muted FROM changes RETURNING id),
    sent AS (
      INSERT INTO webhook_deliveries (id, alert_event_id, channel, url, payload)
      SELECT d.id, w.id, d.channel, d.url, c.payload FROM changes c JOIN written w ON w.id = c.event_id
      CROSS JOIN LATERAL jsonb_to_recordset(c.deliveries) AS d (id uuid, channel text, url text)),
    outlived AS (
      SELECT e.id FROM changes c CROSS JOIN LATERAL (
        SELECT id FROM alert_events WHERE alert_id = c.alert_id ORDER BY id DESC OFFSET :kept::int - 1) AS e)
    DELETE FROM alert_events WHERE id IN (SELECT id FROM outlived)`,
);

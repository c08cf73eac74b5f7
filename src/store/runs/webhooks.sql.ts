import { statement } from '../database/statement.ts';

export const noteWebhookAttempt = statement(
  'note_webhook_attempt',
  ['delivery_id', 'response_status', 'error', 'delivered'],
  `WITH attempt AS (
      INSERT INTO webhook_attempts (delivery_id, attempt, response_status, error)
      SELECT :delivery_id, coalesce(max(attempt), 0) + 1, :response_status, :error
      FROM webhook_attempts WHERE delivery_id = :delivery_id RETURNING 1)
    UPDATE webhook_deliveries SET status = CASE WHEN :delivered THEN 'delivered' ELSE status END,
      delivered_at = CASE WHEN :delivered THEN now() ELSE delivered_at END WHERE id = :delivery_id RETURNING status`,
);

export const giveUpWebhook = statement(
  'give_up_webhook',
  ['delivery_id'],
  `UPDATE webhook_deliveries SET status = 'failed' WHERE id = :delivery_id AND status = 'pending'`,
);

/** First those that were never attempted, and of each owner in turn: one alert may name a hundred addresses that do not answer. */
export const pendingWebhooks = statement(
  'pending_webhooks',
  [],
  `SELECT id, owner FROM (
      SELECT id, owner, attempted, row_number() OVER (PARTITION BY owner, attempted ORDER BY id) AS place
      FROM (SELECT d.id, coalesce(t.owner, a.owner) AS owner,
          EXISTS (SELECT FROM webhook_attempts w WHERE w.delivery_id = d.id) AS attempted
        FROM webhook_deliveries d LEFT JOIN tasks t ON t.id = d.task_id
        LEFT JOIN alert_events e ON e.id = d.alert_event_id LEFT JOIN alerts a ON a.id = e.alert_id
        WHERE d.status = 'pending') AS pending) AS placed
    ORDER BY attempted, place, id LIMIT 1000`,
);

/** Sums up the attempts of deliveries. */
export const sumWebhookAttempts = statement(
  'sum_webhook_attempts',
  ['delivery_ids'],
  `SELECT delivery_id, count(*)::int AS attempts, (array_agg(error ORDER BY attempt DESC))[1] AS error
    FROM webhook_attempts WHERE delivery_id = ANY(:delivery_ids::uuid[]) GROUP BY delivery_id`,
);

/** Rotates a secret in one statement: of two concurrent rotations, the second makes the first one's secret the previous one. */
export const rotateWebhookSecret = statement(
  'rotate_webhook_secret',
  ['owner', 'sealed', 'key_id', 'fingerprint', 'previous_hours'],
  `INSERT INTO webhook_secrets (owner, sealed, key_id, fingerprint, previous_until)
    VALUES (:owner, :sealed, :key_id, :fingerprint, now() + make_interval(hours => :previous_hours))
    ON CONFLICT (owner) DO UPDATE SET previous_sealed = webhook_secrets.sealed, previous_key_id = webhook_secrets.key_id,
      previous_until = excluded.previous_until, sealed = excluded.sealed, key_id = excluded.key_id,
      fingerprint = excluded.fingerprint, rotated_at = now()
    RETURNING *`,
);

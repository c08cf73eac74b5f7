import { statement } from '../database/statement.ts';
import { BATCH } from '../upkeep/retention.sql.ts';

/** Adds entries, given as JSON, in one statement. `queued` also adds them to the queue of the webhook. */
export const addAudit = statement(
  'add_audit',
  ['entries', 'queued'],
  `WITH added AS (
      INSERT INTO audit_entries (id, principal, login, service_key_id, operation, scope, path, resource_type, resource_id, made_id, status,
        request_id, address)
      SELECT id, principal, login, service_key_id, operation, scope, path, resource_type, resource_id, made_id, status, request_id,
        address
      FROM jsonb_populate_recordset(NULL::audit_entries, :entries::jsonb) RETURNING id)
    INSERT INTO audit_queue (entry_id) SELECT id FROM added WHERE :queued::boolean ORDER BY id`,
);

/**
 * Takes the turn for this transaction: one process at a time sends the queue. It may be silent while the receiver takes its time.
 */
export const takeAuditTurn = statement(
  'take_audit_turn',
  [],
  `SELECT pg_try_advisory_xact_lock(7215011843) AS taken, set_config('idle_in_transaction_session_timeout', '30s', true) AS patience`,
);

/** Makes the trigger keep_audit permit the removal of old entries in this transaction. */
export const allowAuditRetention = statement(
  'allow_audit_retention',
  [],
  `SELECT set_config('perdura.audit_retention', 'on', true) AS allowed`,
);

export const removeAudit = statement(
  'remove_audit',
  ['before'],
  `WITH gone AS (
      DELETE FROM audit_entries
      WHERE ctid = ANY (ARRAY(SELECT ctid FROM audit_entries WHERE at < :before ORDER BY at LIMIT ${BATCH})) RETURNING id),
    unsent AS (DELETE FROM audit_queue WHERE entry_id IN (SELECT id FROM gone))
    SELECT count(*)::int AS removed FROM gone`,
);

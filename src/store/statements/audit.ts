import { statement } from '../statement.ts';
import { BATCH } from './retention.ts';

/** Entries as JSON, several in one statement. */
export const addAudit = statement(
  'add_audit',
  ['entries'],
  `INSERT INTO audit_entries (id, principal, login, service_key_id, operation, scope, path, resource_type, resource_id, made_id, status,
      request_id, address)
    SELECT id, principal, login, service_key_id, operation, scope, path, resource_type, resource_id, made_id, status, request_id, address
    FROM jsonb_populate_recordset(NULL::audit_entries, :entries::jsonb)`,
);

/** For this transaction, the trigger keep_audit lets old entries go. */
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
      WHERE ctid = ANY (ARRAY(SELECT ctid FROM audit_entries WHERE at < :before ORDER BY at LIMIT ${BATCH})) RETURNING 1)
    SELECT count(*)::int AS removed FROM gone`,
);

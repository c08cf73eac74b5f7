import { statement } from '../database/statement.ts';

/** A key that was rotated since has other holders, so what it made before ends with it. */
export const knownThreadToken = statement(
  'known_thread_token',
  ['hash'],
  `SELECT t.thread_id, h.owner, h.owner_login, t.scopes, t.origins, t.expires_at, t.service_key_id, k.role AS key_role
    FROM thread_tokens t JOIN threads h ON h.id = t.thread_id LEFT JOIN service_keys k ON k.id = t.service_key_id
    WHERE t.hash = :hash AND t.expires_at > now()
      AND (k.expires_at IS NULL OR k.expires_at > now()) AND (k.rotated_at IS NULL OR k.rotated_at <= t.created_at)`,
);

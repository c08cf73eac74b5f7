import { statement } from '../database/statement.ts';

/**
 * Leases a sign-in, so that one process at a time renews its tokens. A lease that its process did not end expires. One that ends
 * more than two lease times ahead is free as well, because the clock was set back; two, because a statement that waited for the
 * lease to be written began before it.
 */
export const leaseMcpSignIn = statement(
  'lease_mcp_sign_in',
  ['server_id', 'principal', 'lease', 'seconds'],
  `UPDATE mcp_sign_ins SET lease = :lease, leased_until = now() + make_interval(secs => :seconds)
    WHERE server_id = :server_id AND principal = :principal AND (leased_until IS NULL OR leased_until < now() OR leased_until > now() + 2 * make_interval(secs => :seconds))
    RETURNING sealed, key_id`,
);

export const releaseMcpSignIn = statement(
  'release_mcp_sign_in',
  ['server_id', 'principal', 'lease'],
  `UPDATE mcp_sign_ins SET lease = NULL, leased_until = NULL
    WHERE server_id = :server_id AND principal = :principal AND lease = :lease`,
);

/** Writes renewed tokens. Writes nothing if the person has signed in again or disconnected in the meantime. */
export const renewMcpSignIn = statement(
  'renew_mcp_sign_in',
  ['server_id', 'principal', 'lease', 'sealed', 'key_id', 'expires_at', 'renews'],
  `UPDATE mcp_sign_ins SET sealed = :sealed, key_id = :key_id, expires_at = :expires_at, renews = :renews,
      lease = NULL, leased_until = NULL
    WHERE server_id = :server_id AND principal = :principal AND lease = :lease RETURNING server_id`,
);

/** Ends a sign-in whose renewal the server refused. */
export const endMcpSignIn = statement(
  'end_mcp_sign_in',
  ['server_id', 'principal', 'lease'],
  `DELETE FROM mcp_sign_ins WHERE server_id = :server_id AND principal = :principal AND lease = :lease`,
);

/** Takes the attempt with a state, which is possible once. */
export const takeMcpSignInAttempt = statement(
  'take_mcp_sign_in_attempt',
  ['hash'],
  `DELETE FROM mcp_sign_in_attempts WHERE hash = :hash
    RETURNING server_id, principal, session_hash, sealed, key_id, expires_at`,
);

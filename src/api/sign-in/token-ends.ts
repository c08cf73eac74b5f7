import type { FastifyReply } from 'fastify';
import type { IdentityCheck } from '../../identity/cached-identity.ts';
import type { Caller } from '../../identity/caller.ts';

/** A signal that is aborted when the caller's access token ends while a stream is open. */
export type TokenEnds = (caller: Caller, reply: FastifyReply) => AbortSignal;

const LOOK_MS = 3_000;

/** Looks again at service keys, and at tokens that expire; a code host is not asked about an open stream. */
export function tokenEnds(identify: IdentityCheck): TokenEnds {
  return ({ access_token, service_key, valid_until }, { raw }) => {
    const ended = new AbortController();
    if (!service_key && valid_until === undefined) return ended.signal;
    const checkToken = async () => {
      // Nothing is known while it cannot be checked.
      const caller = await identify(access_token).catch(() => undefined);
      if (caller === null) ended.abort();
    };
    const timer = setInterval(() => void checkToken(), LOOK_MS);
    raw.once('close', () => clearInterval(timer));
    return ended.signal;
  };
}

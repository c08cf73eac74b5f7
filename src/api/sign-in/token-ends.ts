import type { FastifyReply } from 'fastify';
import type { IdentityCheck } from '../../identity/cached-identity.ts';
import type { Caller } from '../../identity/caller.ts';

/** Returns a signal that aborts when the caller's access token ends while a stream is open. */
export type WatchToken = (caller: Caller, reply: FastifyReply) => AbortSignal;

const LOOK_MS = 3_000;

/** Checks service keys and expiring tokens again while a stream is open; never asks a code host about one. */
export function createTokenWatch(identify: IdentityCheck): WatchToken {
  return ({ access_token, service_key, valid_until }, { raw }) => {
    const ended = new AbortController();
    if (!service_key && valid_until === undefined) return ended.signal;
    const checkToken = async () => {
      // A check that fails proves nothing about the token.
      const caller = await identify(access_token).catch(() => undefined);
      if (caller === null) ended.abort();
    };
    const timer = setInterval(() => void checkToken(), LOOK_MS);
    raw.once('close', () => clearInterval(timer));
    return ended.signal;
  };
}

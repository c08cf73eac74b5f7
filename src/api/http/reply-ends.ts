import type { FastifyReply } from 'fastify';

/** One shared error: creating one per reply would capture a stack trace each time. */
const OVER = new Error('The reply has ended');

/** Returns a signal that aborts when the client disconnects before it has the whole reply. */
export function createDisconnectSignal({ raw }: FastifyReply): AbortSignal {
  const disconnect = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) disconnect.abort();
  });
  return disconnect.signal;
}

/**
 * Returns a signal that aborts when the reply has ended for any reason. The stream of a HEAD request never starts, and must still
 * be ended.
 */
export function createEndSignal({ raw }: FastifyReply): AbortSignal {
  const over = new AbortController();
  raw.once('close', () => over.abort(OVER));
  return over.signal;
}

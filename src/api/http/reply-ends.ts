import type { FastifyReply } from 'fastify';

/** One for all: each new one would take a trace of the stack. */
const OVER = new Error('The reply has ended');

/** Aborted when the client disconnects before it has the whole reply. */
export function createDisconnectSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
}

/** Aborted when the reply has ended, in whatever way: a stream whose request asks for its head only never begins, and has to be ended. */
export function createEndSignal({ raw }: FastifyReply): AbortSignal {
  const over = new AbortController();
  raw.once('close', () => over.abort(OVER));
  return over.signal;
}

import type { FastifyInstance } from 'fastify';

/** How long requests in progress may take when the server stops. */
const PATIENCE_MS = 10_000;
const SWEEP_MS = 50;

/**
 * Returns a signal that aborts when the server stops: it then accepts nothing new, ends its streams and finishes the requests in
 * progress.
 */
export function createClosingSignal(http: FastifyInstance): AbortSignal {
  const closing = new AbortController();
  http.addHook('preClose', async () => {
    closing.abort();
    const timer = setTimeout(() => http.server.closeAllConnections(), PATIENCE_MS);
    // Otherwise an idle keep-alive connection would stay open for its client's next request.
    const sweep = setInterval(() => http.server.closeIdleConnections(), SWEEP_MS);
    http.server.once('close', () => {
      clearTimeout(timer);
      clearInterval(sweep);
    });
  });
  return closing.signal;
}

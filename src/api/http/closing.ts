import type { Socket } from 'node:net';
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
  const connections = new Set<Socket>();
  http.server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  // Otherwise a connection would stay open for its client's next request, or for the first: clients and browsers open some ahead.
  function closeUnused(): void {
    http.server.closeIdleConnections();
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  }
  http.addHook('preClose', async () => {
    closing.abort();
    const timer = setTimeout(() => http.server.closeAllConnections(), PATIENCE_MS);
    const sweep = setInterval(closeUnused, SWEEP_MS);
    http.server.once('close', () => {
      clearTimeout(timer);
      clearInterval(sweep);
    });
  });
  return closing.signal;
}

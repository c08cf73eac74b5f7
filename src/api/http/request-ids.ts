import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { v7 as uuid } from 'uuid';

export const REQUEST_ID = 'x-request-id';

/** What may go into a log and a header as it is. */
const SAFE = /^[\w.:-]{1,128}$/;

/** The caller's `X-Request-Id` if it is short and plain, else a new one. */
export function chooseRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers[REQUEST_ID];
  return typeof given === 'string' && SAFE.test(given) ? given : uuid();
}

/** Every reply carries the id of its request, also those of handlers that take over the socket. */
export function returnRequestIds(http: FastifyInstance): void {
  http.addHook('onRequest', async (request, reply) => {
    reply.raw.setHeader(REQUEST_ID, request.id);
  });
}

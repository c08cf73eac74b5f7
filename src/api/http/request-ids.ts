import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { v7 as uuid } from 'uuid';

export const REQUEST_ID = 'x-request-id';

/** The ids that are safe in a log and in a header. */
const SAFE = /^[\w.:-]{1,128}$/;

/** Returns the caller's `X-Request-Id` if it is short and plain, otherwise a new id. */
export function chooseRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const client_request_id = headers[REQUEST_ID];
  return typeof client_request_id === 'string' && SAFE.test(client_request_id) ? client_request_id : uuid();
}

/** Sends the request id with every reply, including replies of handlers that take over the socket. */
export function returnRequestIds(http: FastifyInstance): void {
  http.addHook('onRequest', async (request, reply) => {
    reply.raw.setHeader(REQUEST_ID, request.id);
  });
}

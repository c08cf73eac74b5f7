import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/errors.ts';
import { sendProblem, toOpenAIError, toProblem, toProblemBody } from './problems.ts';
import { chooseRequestId, REQUEST_ID } from './request-ids.ts';
import { HEADERS } from './secure-headers.ts';
import { arrivalLimits, refuseRaw } from './slow-clients.ts';

/** The pages, whose own files have relative addresses. */
const PAGES = /^\/(?:dashboard|dashboard-legacy)?(?:\/|$)/;

/**
 * Returns an address without slashes at the end of its path, or twice within it: `/api/agents/` and `/v1//models` are the same
 * resources as `/api/agents` and `/v1/models`. At its beginning they stay, because a proxy may judge a path by that.
 */
function trimPath(url: string): string {
  const [path = '', ...query] = url.split('?');
  if (PAGES.test(path) || !path.startsWith('/')) return url;
  return [path.replace(/(?<!\/)\/+$/, '').replace(/(?<!\/)\/{2,}/g, '/'), ...query].join('?');
}

/** Returns the options of Fastify for what happens before a route is known: every reply is in this service's own form. */
export const edgeOptions = (request_seconds: number) => ({
  ...arrivalLimits(request_seconds),
  clientErrorHandler: refuseRaw,
  rewriteUrl: ({ url = '/' }: IncomingMessage) => trimPath(url),
  genReqId: chooseRequestId,
  frameworkErrors(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
    sendProblem(request, reply.header(REQUEST_ID, request.id), toProblem(error));
  },
});

const UNEXPECTED = {
  status: 417,
  code: 'unknown_expectation',
  detail: 'This service knows no expectation but 100-continue; leave the header Expect out',
};

/** Refuses what Node would answer in its own words, or not at all: an unknown expectation, CONNECT, no Host. */
export function refuseAtEdge(http: FastifyInstance): void {
  http.server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    refuseRaw(Object.assign(new Error('CONNECT'), { code: 'CONNECT' }), socket);
  });
  http.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const request_id = chooseRequestId(request);
    const body = JSON.stringify({ ...toProblemBody(UNEXPECTED, request_id), ...toOpenAIError(UNEXPECTED) });
    const length = { 'content-length': Buffer.byteLength(body), [REQUEST_ID]: request_id };
    response.writeHead(UNEXPECTED.status, { ...HEADERS, 'content-type': 'application/problem+json', ...length }).end(body);
  });
  http.addHook('onRequest', async ({ headers, raw }) => {
    if (!headers.host && raw.httpVersion === '1.1')
      throw new AppError('invalid', 'Send the header Host with the name of this service', { code: 'missing_host' });
  });
}

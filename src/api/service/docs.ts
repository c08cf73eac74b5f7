import apiReference from '@scalar/fastify-api-reference';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import type { Endpoint } from '../../contracts/endpoint.ts';
import { computeEtag } from '../http/etags.ts';
import { PAGE_POLICY } from '../http/secure-headers.ts';
import { describeApi } from './openapi.ts';
import { REFERENCE_PAGE, REFERENCE_START } from './reference-page.ts';

/** Serves `/openapi.json`, and at `/docs` the page that presents it, for the mounted endpoints. */
export async function serveDocs(
  http: FastifyInstance,
  { endpoints, version }: { endpoints: Endpoint[]; version: string },
): Promise<void> {
  const description = JSON.stringify(describeApi(endpoints, version));
  const description_etag = computeEtag(description);
  http.get('/openapi.json', async (request, reply) => {
    reply.headers({ etag: description_etag, 'cache-control': 'no-cache' });
    if (request.headers['if-none-match'] === description_etag) return reply.code(304).send();
    return reply.type('application/json').send(description);
  });
  http.get('/docs', async (_request, reply) => asPage(reply).type('text/html; charset=utf-8').send(REFERENCE_PAGE));
  http.get('/docs/start.js', async (_request, reply) =>
    asPage(reply).type('text/javascript; charset=utf-8').send(REFERENCE_START),
  );
  let script: Promise<{ text: string; etag: string }> | undefined;
  http.get('/docs/scalar.js', async (request, reply) => {
    script ??= loadScalar();
    const { text, etag } = await script;
    asPage(reply).header('etag', etag);
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    return reply.type('text/javascript; charset=utf-8').send(text);
  });
}

const asPage = (reply: FastifyReply): FastifyReply =>
  reply.headers({ 'content-security-policy': PAGE_POLICY, 'cache-control': 'no-cache' });

/** Takes the script out of Scalar's plugin. The plugin's own page starts it inline, which the security policy refuses. */
async function loadScalar(): Promise<{ text: string; etag: string }> {
  const carrier = fastify();
  await carrier.register(apiReference, { routePrefix: '/', configuration: { url: '/openapi.json' } });
  const { payload: text } = await carrier.inject('/js/scalar.js');
  await carrier.close();
  return { text, etag: computeEtag(text) };
}

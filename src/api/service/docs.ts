import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import type { Endpoint } from '../../contracts/endpoint.ts';
import { PAGE_POLICY } from '../http/secure-headers.ts';
import { describeApi } from './openapi.ts';

/** Serves `/openapi.json` and `/docs` for the mounted endpoints. */
export async function serveDocs(
  http: FastifyInstance,
  { endpoints, version }: { endpoints: Endpoint[]; version: string },
): Promise<void> {
  const description = JSON.stringify(describeApi(endpoints, version));
  http.get('/openapi.json', async (_request, reply) => reply.type('application/json').send(description));
  await http.register(swagger, { mode: 'static', specification: { document: JSON.parse(description) } });
  await http.register(swaggerUi, {
    routePrefix: '/docs',
    // A stored token would be readable by the next user of this browser and by any injected script.
    uiConfig: { docExpansion: 'none', persistAuthorization: false },
    staticCSP: PAGE_POLICY,
  });
}

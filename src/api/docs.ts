import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import type { Endpoint } from '../contracts/endpoint.ts';
import { describeApi } from './openapi.ts';

/** `/openapi.json` and `/docs`, from the endpoints that were mounted. */
export async function serveDocs(
  http: FastifyInstance,
  { endpoints, version }: { endpoints: Endpoint[]; version: string },
): Promise<void> {
  const description = describeApi(endpoints, version);
  http.get('/openapi.json', async (_request, reply) => reply.type('application/json').send(JSON.stringify(description)));
  await http.register(swagger, { mode: 'static', specification: { document: description as never } });
  await http.register(swaggerUi, { routePrefix: '/docs', uiConfig: { docExpansion: 'none', persistAuthorization: true } });
}

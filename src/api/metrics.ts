import type { FastifyInstance } from 'fastify';
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { AppError } from '../domain/errors.ts';

/** `/metrics` for Prometheus; behind a bearer token of its own where one is set. */
export function metricsRoute(http: FastifyInstance, token: string | null): void {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time to answer, by route and status',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  http.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    duration.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000);
  });
  http.get('/metrics', async (request, reply) => {
    if (token && request.headers.authorization !== `Bearer ${token}`)
      throw new AppError('unauthorized', 'Send the token of METRICS_TOKEN as bearer token');
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}

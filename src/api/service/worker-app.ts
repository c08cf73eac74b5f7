import Fastify, { type FastifyInstance } from 'fastify';
import type { HostRule } from '../../domain/hosts.ts';
import type { ToolRunner } from '../../toolrunner/runner.ts';
import { edgeOptions, refuseAtEdge } from '../http/edge.ts';
import { refuseOtherHosts } from '../http/hosts.ts';
import { refuseInOurWords } from '../http/problems.ts';
import { returnRequestIds } from '../http/request-ids.ts';
import { secureHeaders } from '../http/secure-headers.ts';
import { type Checks, readinessRoute } from './health.ts';
import { type MetricsSource, metricsRoute } from './metrics.ts';

interface WorkerServices {
  checks: Checks;
  runner: Pick<ToolRunner, 'isolation'>;
  metrics: readonly MetricsSource[];
}

interface WorkerSettings {
  metrics_token: string | null;
  /** The accepted hosts; null: any `Host`. */
  answers_to: HostRule | null;
  request_seconds: number;
}

/** Builds the server of a worker: it serves health and metrics, and no user data. */
export function buildWorkerApp(services: WorkerServices, settings: WorkerSettings): FastifyInstance {
  const http = Fastify({
    ...edgeOptions(settings.request_seconds),
    forceCloseConnections: true,
  });
  returnRequestIds(http);
  secureHeaders(http);
  refuseInOurWords(http);
  refuseAtEdge(http);
  refuseOtherHosts(http, { answers_to: settings.answers_to, allowsOrigin: async () => false });
  http.get('/health/live', async () => ({ status: 'live' }));
  readinessRoute(http, services);
  metricsRoute(http, { token: settings.metrics_token, sources: services.metrics });
  return http;
}

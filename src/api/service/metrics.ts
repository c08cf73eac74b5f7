import { createHash, timingSafeEqual } from 'node:crypto';
import { isIPv4 } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { AppError } from '../../domain/errors.ts';
import type { StreamBudget } from '../../events/waiting.ts';

/** Metrics in Prometheus' text format. */
export type MetricsSource = () => Promise<string>;

interface MetricsOptions {
  token: string | null;
  /** Absent in a process without streams. */
  waiting?: StreamBudget;
  /** Further metrics; each name occurs in one source. */
  sources: readonly MetricsSource[];
}

/**
 * Serves `/metrics` for Prometheus. If METRICS_TOKEN is set it is required as bearer token; otherwise only this machine may read.
 */
export function metricsRoute(http: FastifyInstance, { token, waiting, sources }: MetricsOptions): void {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  if (waiting) {
    gauge(registry, 'perdura_streams_open', 'Open streams, and requests that wait for a run', waiting.streams);
    gauge(registry, 'perdura_stream_bytes_waiting', 'Bytes that wait in this process for the clients of streams', waiting.bytes);
  }
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
    if (token === null && !isFromHere(request))
      throw new AppError('forbidden', 'Only this machine may read the metrics until METRICS_TOKEN is set');
    if (token !== null && !isSame(request.headers.authorization ?? '', `Bearer ${token}`))
      throw new AppError('unauthorized', 'Send the value of METRICS_TOKEN as bearer token');
    const texts = await Promise.all([registry.metrics(), ...sources.map((source) => source())]);
    return reply.type(registry.contentType).send(texts.map((text) => `${text.trimEnd()}\n`).join(''));
  });
}

/**
 * Gauges of the library whose names end like counters, which Prometheus' own check refuses; each also has series by type under a
 * proper name.
 */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

function gauge(registry: Registry, name: string, help: string, value: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(value());
    },
  });
}

const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/** True if the socket's peer is this machine. A request forwarded by a local proxy comes from elsewhere. */
function isFromHere({ raw, headers }: FastifyRequest): boolean {
  const address = String(raw.socket.remoteAddress).replace(/^::ffff:/, '');
  const loopback = address === '::1' || (isIPv4(address) && address.startsWith('127.'));
  return loopback && FORWARDED.every((name) => headers[name] === undefined);
}

/** Compares in constant time. */
function isSame(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(first!, second!);
}

import type { FastifyInstance } from 'fastify';
import { health } from '../../contracts/health.ts';
import { findOutage } from '../../domain/outages.ts';
import type { ToolRunner } from '../../toolrunner/runner.ts';
import { type Api, mount } from '../http/mount.ts';

/** The readiness checks by name. Each throws if this process cannot serve, or returns a short status. */
export type Checks = Record<string, () => Promise<string>>;

const PATIENCE_MS = 3_000;

interface HealthServices {
  checks: Checks;
  runner: Pick<ToolRunner, 'isolation'>;
}

export function healthRoutes(api: Api, services: HealthServices): void {
  mount(api, health.live, async () => ({ status: 'live' as const }));
  api.endpoints.push(health.ready);
  readinessRoute(api.http, services);
}

/** `/health/ready`: 200 if every check passes, otherwise 503 with the same body. */
export function readinessRoute(http: FastifyInstance, { checks, runner }: HealthServices): void {
  http.get('/health/ready', async (_request, reply) => {
    const results = await runChecks(checks);
    const ready = results.every(({ ok }) => ok);
    return reply.code(ready ? 200 : 503).send({
      status: ready ? 'ready' : 'not_ready',
      tool_isolation: runner.isolation,
      checks: Object.fromEntries(results.map(({ name, ...result }) => [name, result])),
    });
  });
}

/** Runs all checks at once. Each has the same time to answer. */
export const runChecks = (checks: Checks): Promise<{ name: string; ok: boolean; detail: string }[]> =>
  Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const { value, error } = await readInTime(check);
      return { name, ok: error === null, detail: error ?? value };
    }),
  );

/** Reads from a source that may be down. Returns the reason instead of a value if it fails or takes too long. */
export async function readInTime<T>(read: () => Promise<T>): Promise<{ value: T; error: null } | { value: null; error: string }> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), PATIENCE_MS);
  });
  try {
    return { value: await Promise.race([read(), timeout]), error: null };
  } catch (error) {
    return { value: null, error: findOutage(error)?.sentence ?? ((error as Error).message || 'failed') };
  } finally {
    clearTimeout(timer);
  }
}

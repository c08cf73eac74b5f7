import type { Checks } from '../../api/service/health.ts';
import { textWithReason } from '../../domain/reason.ts';
import { requireOwnSchema } from '../../store/database/migrations.ts';
import { describeServed, describeUnserved } from '../../temporal/client/queues.ts';
import { missingParts } from '../../temporal/worker/housekeeping.ts';
import type { PythonToolRunner } from '../../toolrunner/python-tool-runner.ts';
import type { Isolation } from '../../toolrunner/settings.ts';
import { createS3Store, parseS3Settings } from '../../tools/snapshots/object-store.ts';
import type { RunControl, SharedServices } from '../core.ts';
import { MIGRATIONS } from '../places.ts';

const TOOLS: Record<Isolation, string> = {
  namespaces: 'each call is confined in its own namespaces',
  landlock: 'each call is confined by Landlock, the second-strongest way',
  process: 'NOT confined: a tool can do whatever the service can',
  refused: 'do not run',
};

export const describeTools = ({ isolation, isolation_reason: reason }: PythonToolRunner): string =>
  reason ? `${TOOLS[isolation]} (${reason})` : TOOLS[isolation];

/** The check's limit, shorter than that of readiness, so that the reported reason is the bucket's. */
const BUCKET_MS = 2_000;

/** Checks that the bucket of workspaces is available; empty without `S3_BUCKET`. */
export function bucketChecks({ setting: { config }, egress }: Pick<SharedServices, 'setting' | 'egress'>): Checks {
  if (!config.S3_BUCKET) return {};
  return {
    async bucket() {
      await createS3Store(parseS3Settings(config)!, egress.objects).ping(BUCKET_MS);
      return 'answers';
    },
  };
}

/** Converts checks so that they report what is missing and do not fail. */
const reportOnly = (checks: Checks): Checks =>
  Object.fromEntries(
    Object.entries(checks).map(([name, check]) => [name, () => check().catch((error: Error) => textWithReason(error))]),
  );

/** Creates the checks of readiness and `doctor`. */
export function createChecks(
  core: Pick<SharedServices, 'store' | 'bus' | 'database' | 'runner' | 'setting' | 'egress'>,
  { engine, client }: Pick<RunControl, 'engine' | 'client'>,
): Checks {
  const { store, bus, database, runner, setting } = core;
  return {
    async database() {
      await store.ping();
      return 'answers';
    },
    async engine() {
      await engine.ping();
      return 'answers';
    },
    async 'engine setup'() {
      const missing = await missingParts(client, setting.config.TEMPORAL_TASK_QUEUE);
      if (missing.length === 0) return 'complete';
      throw new Error(`The workflow engine lacks ${missing.join(', ')}; a worker creates what is missing within seconds`);
    },
    /** Never fails: without workers the API still accepts prompts and serves what is on record. `doctor` fails. */
    async workers() {
      const queues = await engine.queues();
      return describeUnserved(queues) ?? describeServed(queues);
    },
    async bus() {
      await bus.ping();
      return 'answers';
    },
    migrations: async () => `${await requireOwnSchema(database.pool, MIGRATIONS)} applied`,
    tools: async () => describeTools(runner),
    // Only calls with files need it, and they wait: the API accepts prompts, and serves what is on record. Workers and `doctor` fail.
    ...reportOnly(bucketChecks(core)),
  };
}

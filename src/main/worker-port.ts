import type { Checks } from '../api/service/health.ts';
import type { MetricsSource } from '../api/service/metrics.ts';
import { buildWorkerApp } from '../api/service/worker-app.ts';
import { stateText } from '../observe/state-text.ts';
import type { RunningWorker } from '../temporal/worker/worker.ts';
import { type Config, hasRole } from './config.ts';
import type { RunControl, SharedServices } from './core.ts';
import type { Resources } from './resources.ts';
import { bucketChecks, createChecks } from './wiring/checks.ts';

interface WorkerPort {
  core: SharedServices;
  driver: Pick<RunControl, 'engine' | 'client'>;
  /** Null until it takes work. */
  worker(): RunningWorker | null;
  /** Where the SDK serves its own metrics, on this machine. */
  sdk_metrics: string;
}

/** The metrics of the installation, from the record and the engine. */
export const stateSource =
  ({ store }: Pick<SharedServices, 'store'>, { engine }: Pick<RunControl, 'engine'>): MetricsSource =>
  () =>
    stateText({
      workload: store.workload.read,
      backlogs: engine.backlogs,
      budgets: () => store.budgets.listMostUsed(SHOWN_BUDGETS),
    });

/** How many budgets have a metric: each is a separate series. */
const SHOWN_BUDGETS = 100;

/** Serves health and metrics of a worker at WORKER_PORT. Returns the address. */
export async function openWorkerPort(port: WorkerPort, resources: Resources): Promise<string> {
  const { core, driver, sdk_metrics } = port;
  const { config, answers_to } = core.setting;
  // A worker of the role tools may not read every run.
  const state = hasRole(config, 'runs') ? [stateSource(core, driver)] : [];
  const metrics = [core.meters.text, ...state, () => sdkText(sdk_metrics)];
  const app = buildWorkerApp(
    { checks: workerChecks(port), runner: core.runner, metrics },
    { metrics_token: config.METRICS_TOKEN ?? null, answers_to, request_seconds: config.REQUEST_SECONDS },
  );
  resources.hold(app, (it) => it.close());
  const address = await app.listen({ host: getHost(config), port: config.WORKER_PORT! }).catch((error: Error) => {
    throw new Error(`WORKER_PORT=${config.WORKER_PORT} cannot be opened: ${error.message}; choose another port or PERDURA_HOST`);
  });
  for (const url of [address, sdk_metrics]) core.egress.own_ports.add(Number(new URL(url).port));
  return address;
}

const getHost = ({ PERDURA_HOST = '0.0.0.0' }: Config) => PERDURA_HOST;

function workerChecks({ core, driver, worker }: WorkerPort): Checks {
  const { database, engine, bus, migrations, tools } = createChecks(core, driver);
  const { pool } = core.database;
  return {
    async database() {
      if (hasRole(core.setting.config, 'runs')) return database!();
      // The other check writes, which a worker of the role tools may not.
      await pool.query('SELECT 1');
      return 'answers';
    },
    engine: engine!,
    async pollers() {
      if (worker()?.polls()) return 'ask for work';
      throw new Error('The worker does not ask for work: it is starting or stopping');
    },
    bus: bus!,
    migrations: migrations!,
    tools: tools!,
    ...bucketChecks(core),
  };
}

const PATIENCE_MS = 2_000;

/** The metrics of Temporal's SDK; empty if it does not answer. */
async function sdkText(url: string): Promise<string> {
  try {
    return await (await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) })).text();
  } catch {
    return '';
  }
}

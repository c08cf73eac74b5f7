import { mkdir } from 'node:fs/promises';
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection } from '@temporalio/worker';
import type { FastifyInstance } from 'fastify';
import { buildApp } from '../api/app.ts';
import type { DashboardSettings } from '../api/dashboard.ts';
import { cachedIdentity } from '../api/identity.ts';
import { guardedFetch } from '../egress/guarded-fetch.ts';
import { postgresBus } from '../events/postgres-bus.ts';
import { redisBus } from '../events/redis-bus.ts';
import { openDatabase } from '../store/database.ts';
import { createStore } from '../store/index.ts';
import { keyRing } from '../store/key-ring.ts';
import { definitionOf } from '../store/pin.ts';
import type { Principal } from '../store/principals.ts';
import type { ScheduleRow } from '../store/scheduled-agents.ts';
import { serve } from '../temporal/activities/fire.ts';
import { createDispatch } from '../temporal/dispatch.ts';
import { createEngine } from '../temporal/engine.ts';
import { prepareEngine } from '../temporal/housekeeping.ts';
import { createSchedules } from '../temporal/schedules.ts';
import { settler } from '../temporal/settle.ts';
import { type RunningWorker, startWorker } from '../temporal/worker.ts';
import { startToolRunner } from '../toolrunner/index.ts';
import { builtinSpecs } from '../tools/builtin/index.ts';
import { chatRepliesOf } from './chat.ts';
import { checksOf } from './checks.ts';
import { type Core, type Driver, type Setting, workspacesOf } from './core.ts';
import { chatGuardOf, promptRefusal } from './guardrails.ts';
import { knowledgeOf, knowledgeServiceOf } from './knowledge.ts';
import { mcpProbe } from './mcp-probe.ts';
import { modelListsOf } from './model-lists.ts';
import { DASHBOARDS } from './places.ts';
import type { Resources } from './resources.ts';
import { bundlesOf } from './run-bundle.ts';
import { activityPorts, firePortsOf } from './run-ports.ts';
import { toolsPython } from './tools-python.ts';

export async function openCore(setting: Setting, resources: Resources, log: (message: string) => void): Promise<Core> {
  const { config, database_url: url } = setting;
  const on_error = (error: Error) => log(`A database connection broke: ${error.message}`);
  const database = resources.hold(openDatabase({ url, max_connections: config.DATABASE_POOL_SIZE, on_error }), (it) =>
    it.close(),
  );
  const keys = keyRing(setting.encryption_keys);
  const { REDIS_URL } = config;
  const opened = REDIS_URL ? redisBus({ url: REDIS_URL, log }) : postgresBus({ url, pool: database.pool, log });
  const bus = resources.hold(await opened, (it) => it.close());
  const store = createStore({
    database,
    keys,
    tell: (workflow_id, task_id, told) => bus.announce(workflow_id, { task_id, ...told }),
  });
  const egress_allow = [...setting.egress_allow, hostOf(setting.default_runtime.base_url)];
  const egress = resources.hold(guardedFetch(egress_allow), (it) => it.close());
  // The sandbox opens the way to it when it is set up.
  await mkdir(workspacesOf(config), { recursive: true, mode: 0o711 });
  const runner = resources.hold(
    await startToolRunner({
      python: await toolsPython(config),
      preload: config.TOOLRUNNER_PRELOAD,
      isolation: config.TOOL_ISOLATION,
      workspaces: workspacesOf(config),
      egress_allow,
      log,
    }),
    (it) => it.close(),
  );
  const on_seen = (principal: Principal) => void store.principals.seen(principal).catch((error: Error) => log(error.message));
  const identify = cachedIdentity(setting.identity_providers, { on_seen });
  const knowledge = knowledgeOf({ store, egress, embeddings: setting.embeddings });
  return { setting, database, keys, store, bus, runner, egress, knowledge, identify, log };
}

/** The operator chose this address, so it may be private. */
const hostOf = (url: string) => {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
};

/** TLS and API keys come by Temporal's own variables; the address is ours to know. */
function connectOptions({ temporal_address: address }: Setting) {
  return { ...loadClientConnectConfig().connectionOptions, address };
}

/** A connection that a worker can live on; a client on it can hand the worker its first step. */
export const openWorkerConnection = async (setting: Setting, resources: Resources): Promise<NativeConnection> =>
  resources.hold(await NativeConnection.connect(connectOptions(setting)), (it) => it.close());

export const openClientConnection = (setting: Setting, resources: Resources): Connection =>
  resources.hold(Connection.lazy(connectOptions(setting)), (it) => it.close());

/** How runs are started and stopped; `eager` where a worker shares the connection. */
export function openDriver({ setting, store, bus }: Core, connection: Connection | NativeConnection, eager: boolean): Driver {
  const client = new Client({ connection, namespace: setting.config.TEMPORAL_NAMESPACE });
  const { TEMPORAL_TASK_QUEUE: task_queue } = setting.config;
  const engine = createEngine({ client, task_queue, ui_url: setting.temporal_ui_url, eager });
  const settle = settler({ runs: store.runs, now: () => new Date().toISOString() });
  const dispatch = createDispatch({ store, engine, bus, settle, definitionOf, refusalOf: promptRefusal });
  return { client, engine, settle, dispatch, schedules: createSchedules(client, task_queue) };
}

export async function openWorker(core: Core, connection: NativeConnection, resources: Resources): Promise<RunningWorker> {
  const { config } = core.setting;
  const driver = openDriver(core, connection, true);
  const { ports, unwatch } = await activityPorts(core, driver);
  const settings = {
    connection,
    namespace: config.TEMPORAL_NAMESPACE,
    task_queue: config.TEMPORAL_TASK_QUEUE,
    cache_dir: `${config.PERDURA_HOME}/cache`,
    max_activities: config.WORKER_MAX_ACTIVITIES,
    cached_runs: config.WORKER_CACHED_RUNS,
    shutdown_seconds: config.WORKER_SHUTDOWN_SECONDS,
    build_id: config.WORKER_BUILD_ID ?? null,
  };
  resources.hold(unwatch, (end) => end());
  await prepareEngine({ client: driver.client, task_queue: settings.task_queue, every_seconds: config.RECONCILE_SECONDS });
  return resources.hold(await startWorker(ports, settings), (it) => it.stop());
}

/** How long replies of chats may take to end when the service is stopped. */
const CHAT_GRACE_MS = 5_000;

export async function openApi(
  core: Core,
  driver: Driver,
  { version, resources, dashboards = DASHBOARDS }: { version: string; resources: Resources; dashboards?: DashboardSettings },
): Promise<FastifyInstance> {
  const { setting, store, bus, runner, identify } = core;
  const { config } = setting;
  const replies = resources.hold(chatRepliesOf(core), (it) => it.close(CHAT_GRACE_MS));
  const services = {
    ...{ store, bus, runner, ...driver, identify },
    models: modelListsOf(core),
    checks: checksOf(core, driver.engine),
    replies,
    guard: chatGuardOf(core),
    knowledge: knowledgeServiceOf(core),
    fireNow: (row: ScheduleRow, due_at: Date) => serve(firePortsOf(core, driver), row, { due_at, by_hand: true }),
    mcp: mcpProbe(core),
    bundleOf: bundlesOf(core),
    builtin_tools: builtinSpecs({ web_search: config.SEARCH_API_URL !== undefined }),
  };
  const app = await buildApp(services, {
    version,
    admins: config.ADMIN_SUBJECTS,
    shared_write: config.SHARED_WRITE,
    cors_origins: config.CORS_ORIGINS,
    rate_limit: config.RATE_LIMIT_PER_MINUTE,
    metrics_token: config.METRICS_TOKEN ?? null,
    log_level: config.LOG_LEVEL,
    dashboards,
  });
  return resources.hold(app, (it) => it.close());
}

import { mkdir } from 'node:fs/promises';
import { Client, type Connection } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { createPublishers } from '../../events/changes.ts';
import { postgresBus } from '../../events/postgres-bus.ts';
import { redisBus } from '../../events/redis-bus.ts';
import { createJudge, type Judge } from '../../guardrails/judge.ts';
import { withBrowserSessions } from '../../identity/browser-sessions.ts';
import { createCachedIdentity } from '../../identity/cached-identity.ts';
import { authorities } from '../../identity/roles.ts';
import { withServiceKeys } from '../../identity/service-keys.ts';
import { withThreadTokens } from '../../identity/thread-tokens.ts';
import { measureRunner } from '../../observe/measured.ts';
import { createMeters } from '../../observe/meters.ts';
import { PATIENCE_MS } from '../../parsers/failure.ts';
import { createParserPool, type ParserPool } from '../../parsers/pool.ts';
import { findModelPrice } from '../../runtimes/prices.ts';
import { buildClientConfig, openDatabase } from '../../store/database/database.ts';
import { requireOwnSchema } from '../../store/database/migrations.ts';
import { requireReachable } from '../../store/database/reachable.ts';
import { createStore } from '../../store/index.ts';
import type { KnownPrincipal } from '../../store/people/principals.ts';
import { createQuotas } from '../../store/people/quota-checks.ts';
import { toVersionConfig } from '../../store/resources/versions.ts';
import { pinDefinition } from '../../store/runs/pin.ts';
import { noteActiveKey, requireKeys } from '../../store/secrets/key-check.ts';
import { keyRing } from '../../store/secrets/key-ring.ts';
import { createEngine } from '../../temporal/client/engine.ts';
import { engineMark } from '../../temporal/client/engine-mark.ts';
import { isOnThisMachine, openConnection, openRelayedConnection } from '../../temporal/client/engine-relay.ts';
import { createEvaluations } from '../../temporal/client/evaluations.ts';
import { createSchedules } from '../../temporal/client/schedules.ts';
import { epochKeeper } from '../../temporal/repair/epoch.ts';
import { createDispatch } from '../../temporal/start/dispatch.ts';
import { settler } from '../../temporal/start/settle.ts';
import { startsInTurn } from '../../temporal/start/starts.ts';
import { toWorkspacesPath } from '../../tools/workspaces.ts';
import { type Config, hasRole, onlyCallsTools, toRoleSettings } from '../config.ts';
import type { RunControl, SharedServices } from '../core.ts';
import { createHomeMark } from '../home-mark.ts';
import type { InstallationSettings } from '../installation-settings.ts';
import type { ProcessLog } from '../log.ts';
import { MIGRATIONS } from '../places.ts';
import type { Resources } from '../resources.ts';
import { describeKeySource } from '../setting.ts';
import { connectOptions } from './client-connection.ts';
import { openEgress } from './egress.ts';
import { createPromptCheck } from './guardrails.ts';
import { openKnowledge } from './knowledge.ts';
import { createLaterStarts } from './later-starts.ts';
import { openMcpPackages } from './mcp-packages.ts';
import { keepModelCatalogue } from './model-catalogue.ts';
import { getParserSettings } from './parsers.ts';
import { createSecretScope, listInstallationSecrets } from './secret-scope.ts';
import { openToolRunner } from './tool-runner.ts';
import { getLogOrigin, startTracing } from './traces.ts';

/** The number of runs that start at once; measured with 16, 100 and 400 prompts: docs/performance.md. */
const STARTS_AT_ONCE = 6;

/** Opens the parser pool of this process; its processes start when they are first needed. */
export function openParsers(config: Config, resources: Resources): { parsers: ParserPool; judge: Judge } {
  const settings = getParserSettings(config);
  const parsers = resources.hold(createParserPool(settings.pool), (it) => it.close());
  return { parsers, judge: createJudge(parsers, { ...settings.judge, patience_ms: PATIENCE_MS }) };
}

export async function openSharedServices(
  setting: InstallationSettings,
  resources: Resources,
  write: ProcessLog,
): Promise<SharedServices> {
  const secrets = createSecretScope(listInstallationSecrets(setting));
  const { config, database_url: url, direct_database_url: direct_url } = setting;
  const tracing = await startTracing({ setting, secrets, write }, resources);
  const log = (message: string) => write(secrets.redact.text(message), getLogOrigin(tracing));
  await requireReachable(setting);
  const on_error = (error: Error) => log(`A database connection broke: ${error.message}`);
  const { DATABASE_POOL_SIZE: max_connections, REDIS_URL } = config;
  const pooled = direct_url !== null;
  const database = resources.hold(openDatabase({ url, max_connections, pooled, on_error }), (it) => it.close());
  const keys = keyRing(setting.encryption_keys, secrets.recordSecret);
  await requireOwnSchema(database.pool, MIGRATIONS);
  await requireKeys(database.pool, keys, describeKeySource(config));
  if (hasRole(config, 'runs')) await noteActiveKey(database.pool, keys);
  const connection = buildClientConfig(direct_url ?? url, 'perdura events');
  const bus = resources.hold(
    REDIS_URL ? redisBus({ url: REDIS_URL, log }) : postgresBus({ connection, pool: database.pool, log }),
    (it) => it.close(),
  );
  const { publish, publishChange } = createPublishers(bus);
  const store = createStore({
    database,
    keys,
    admins: config.ADMIN_SUBJECTS,
    only_tools: onlyCallsTools(config),
    publish,
  });
  const { parsers, judge } = openParsers(config, resources);
  const egress = openEgress(setting, resources);
  // The sandbox opens the path to this folder during its setup.
  await mkdir(toWorkspacesPath(config), { recursive: true, mode: 0o711 });
  const tools = { egress_allow: egress.tools_allow, own_ports: egress.own_ports, log };
  const meters = createMeters();
  const runner = measureRunner(
    resources.hold(await openToolRunner(config, tools), (it) => it.close()),
    meters,
  );
  const on_seen = (principal: KnownPrincipal) =>
    void store.principals.noteSignIn(principal).catch((error: Error) => log(`A sign-in was not recorded: ${error.message}`));
  const noteFailure = (error: Error) => log(`The last use of a service key was not noted: ${error.message}`);
  const people = withBrowserSessions(createCachedIdentity(setting.identity_providers, { on_seen }), store.browserSessions.known);
  const findClaimedRole = async (owner: string) =>
    config.OIDC_ROLE_CLAIM === undefined ? null : ((await store.principals.find(owner))?.claimed_role ?? null);
  const with_keys = withServiceKeys(people, {
    findKey: (key) => store.serviceKeys.known(key, noteFailure),
    claimedRole: findClaimedRole,
  });
  const identify = withThreadTokens(with_keys, { findToken: store.threadTokens.known, claimedRole: findClaimedRole });
  const knowledge = openKnowledge({
    store,
    egress: egress.configuration,
    secrets,
    embeddings: setting.embeddings,
    embeddingFetch: egress.installation,
  });
  const authorityOf = authorities(toRoleSettings(config));
  return {
    setting,
    database,
    keys,
    secrets,
    store,
    bus,
    publishChange,
    runner,
    mcp_packages: openMcpPackages(config, runner),
    model_catalogue: resources.hold(await keepModelCatalogue({ store, log }), (it) => it.stop()),
    egress,
    parsers,
    judge,
    quotas: createQuotas(store.quotas, config),
    starts: startsInTurn(STARTS_AT_ONCE),
    knowledge,
    identify,
    authorityOf,
    mayStart: createLaterStarts({ config, store, identify, authorityOf }),
    meters,
    tracing,
    log,
  };
}

/** Opens a connection that is suitable for a worker; a client on it can give the worker its first step. */
export async function openWorkerConnection(
  setting: InstallationSettings,
  resources: Resources,
  log: (message: string) => void,
): Promise<NativeConnection> {
  // Messages have a few hundred bytes: compressing them, the library's default, takes longer than sending them.
  const options = { ...connectOptions(setting), grpcCompression: { codec: 'none' as const } };
  const relayed = setting.config.WORKER_ENGINE_RELAY ?? !isOnThisMachine(options.address);
  const connection = await (relayed ? openRelayedConnection({ options, log }) : openConnection(options)).catch((error: Error) => {
    throw new Error(`Temporal at ${options.address} does not answer (TEMPORAL_ADDRESS): ${error.message}`);
  });
  return resources.hold(connection, (it) => it.close()).connection;
}

/** Opens the control that starts and stops runs; `eager` if a worker shares the connection. */
export function openRunControl(
  {
    setting,
    store,
    bus,
    judge,
    quotas,
    starts,
    meters,
    tracing,
    log,
  }: Pick<SharedServices, 'setting' | 'store' | 'bus' | 'judge' | 'quotas' | 'starts' | 'meters' | 'tracing' | 'log'>,
  connection: Connection | NativeConnection,
  eager: boolean,
): RunControl {
  const interceptors = tracing ? { interceptors: tracing.clientInterceptors } : {};
  const client = new Client({ connection, namespace: setting.config.TEMPORAL_NAMESPACE, ...interceptors });
  const { TEMPORAL_TASK_QUEUE: task_queue, TEMPORAL_ROLE_QUEUES: role_queues } = setting.config;
  const { temporal_ui_url: ui_url, public_url } = setting;
  const engine = createEngine({ client, task_queue, role_queues, ui_url, public_url, eager });
  const settle = settler({ runs: store.runs, now: () => new Date().toISOString(), onEnd: meters.runEnded });
  const dispatch = createDispatch({
    store,
    engine,
    bus,
    starts,
    steps_here: eager && !role_queues,
    settle,
    pinDefinition,
    findModelPrice,
    buildConfig: toVersionConfig,
    admitTask: quotas.admitTask,
    findRefusal: createPromptCheck(judge),
  });
  const home = createHomeMark(setting.config.PERDURA_HOME, { holds_record: setting.config.DATABASE_URL === undefined });
  const epoch = epochKeeper({ record: store.epoch, engine: engineMark(client, task_queue), home, log });
  const schedules = createSchedules({ client, task_queue, public_url });
  return { client, engine, settle, dispatch, schedules, evaluations: createEvaluations(client, task_queue), epoch };
}

import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { hostRule } from '../domain/hosts.ts';
import { replaceFile } from '../embedded/files.ts';
import { lockInstallation } from '../embedded/installation-lock.ts';
import { localToken } from '../embedded/local-identity.ts';
import { reservePort } from '../embedded/ports.ts';
import { supervise } from '../embedded/supervision.ts';
import { applyMigrations } from '../store/database/migrations.ts';
import { quietSdk } from '../temporal/worker/worker.ts';
import type { Config } from './config.ts';
import type { InstallationSettings } from './installation-settings.ts';
import { type ProcessLog, sdkLog } from './log.ts';
import { openWorker } from './open-worker.ts';
import { MIGRATIONS, PERDURA_VERSION } from './places.ts';
import { createResources, type Resources } from './resources.ts';
import { type Servers, startServers } from './servers.ts';
import {
  createIdentityChecks,
  findDefaultRuntime,
  findEmbeddings,
  findLocalPrincipal,
  listAdministrators,
  loadEncryptionKeys,
  loadWebhookSecret,
} from './setting.ts';
import { DEFAULT_PORT } from './variables.ts';
import { openApi } from './wiring/api.ts';
import { toHostPort } from './wiring/egress.ts';
import { openRunControl, openSharedServices, openWorkerConnection } from './wiring/index.ts';
import { prepareSample } from './wiring/prepare-sample.ts';
import { registerPlugins } from './wiring/register-plugins.ts';

const HOST = '127.0.0.1';
/** If the whole installation runs on this machine, users' configuration may name the machine, but no tool may reach it. */
const LOOPBACK = ['127.0.0.0/8', '::1'];

export interface Installation {
  api_url: string;
  dashboard_url: string;
  docs_url: string;
  temporal_ui_url: string | null;
  temporal_address: string;
  database_url: string;
  demo_model_url: string;
  token_file: string;
  pids: Record<string, number>;
}

interface RunningInstallation {
  installation: Installation;
  /** Rejects if the worker crashes. */
  done: Promise<void>;
  stop(): Promise<void>;
}

/** The whole installation in this process, with its own servers: one command, no settings. */
export async function startInstallation(config: Config, log: ProcessLog): Promise<RunningInstallation> {
  const resources = createResources((error) => log(`While stopping: ${(error as Error).message}`));
  try {
    resources.hold(await lockInstallation(config.PERDURA_HOME), (it) => it.release());
    const servers = await startServers(config, resources, log);
    const new_migrations = await applyMigrations(servers.direct_database_url, MIGRATIONS);
    if (new_migrations.length > 0) log(`Applied ${new_migrations.length} database migrations`);
    let address: string | null = null;
    const setting = await buildSettings(config, servers, () => address);
    const { api_url, done } = await startApiAndWorker(setting, servers, { resources, log });
    address = api_url;
    const installation = await describe(config, servers, api_url);
    await announceReady(config, installation, resources);
    const on_restart = async () => writeReady(config, { ...installation, pids: listPids(servers) });
    const supervision = resources.hold(supervise(servers.restartable, { log, on_restart }), (it) => it.stop());
    return { installation, done: Promise.race([done, supervision.failure]), stop: () => resources.close() };
  } catch (error) {
    await resources.close();
    throw error;
  }
}

/** `address`: of the API, once it listens. */
async function buildSettings(config: Config, servers: Servers, address: () => string | null): Promise<InstallationSettings> {
  const demo = { base_url: servers.demo_model_url, model: 'perdura-demo' };
  const default_runtime = findDefaultRuntime(config) ?? demo;
  return {
    // The whole installation runs on the user's machine, so it may start the user's commands.
    config: { ...config, ALLOW_STDIO_MCP: config.ALLOW_STDIO_MCP ?? true, ADMIN_SUBJECTS: listAdministrators(config) },
    version: PERDURA_VERSION,
    database_url: servers.own_database_url,
    direct_database_url: config.DATABASE_URL ? (config.DATABASE_DIRECT_URL ?? null) : null,
    temporal_address: servers.temporal_address,
    temporal_ui_url: servers.temporal_ui_url,
    public_url: () => config.PERDURA_PUBLIC_URL ?? address(),
    encryption_keys: await loadEncryptionKeys(config, servers.direct_database_url),
    default_runtime,
    embeddings: findEmbeddings(config) ?? { ...demo, api_key: null },
    webhook_secret: await loadWebhookSecret(config),
    egress_allow: config.EGRESS_ALLOW,
    configuration_allow: LOOPBACK,
    provider_allow: [servers.demo_model_url, default_runtime.base_url].map(toHostPort),
    own_ports: servers.own_ports,
    answers_to: hostRule({ listening: config.PERDURA_HOST ?? HOST, names: [hostname(), ...config.ALLOWED_HOSTS] }),
    identity_providers: await createIdentityChecks(config, 'local'),
  };
}

/** Worker and API on one connection, so that the worker can start a new run's first step without polling the engine. */
async function startApiAndWorker(
  setting: InstallationSettings,
  { demo_model_url }: Servers,
  { resources, log }: { resources: Resources; log: ProcessLog },
) {
  quietSdk('WARN', { write: sdkLog() });
  const { config } = setting;
  const core = await openSharedServices(setting, resources, log);
  await core.store.grants.grantExisting();
  await registerPlugins(core);
  await prepareSample(core, { demo_model_url, owner: findLocalPrincipal(config) });
  const connection = await openWorkerConnection(setting, resources, log);
  const worker = await openWorker(core, connection, resources);
  const app = await openApi(core, openRunControl(core, connection, true), { resources });
  const host = config.PERDURA_HOST ?? HOST;
  const { PERDURA_HOME: home, PERDURA_PORT: configured } = config;
  const port = await reservePort(home, 'api', DEFAULT_PORT, { configured, host });
  return { api_url: await app.listen({ host, port }), done: worker.done };
}

async function describe(config: Config, servers: Servers, api_url: string): Promise<Installation> {
  const { token_file } = await localToken(config.PERDURA_HOME);
  const { temporal_ui_url, temporal_address, database_url, demo_model_url } = servers;
  return {
    api_url,
    dashboard_url: `${api_url}/dashboard`,
    docs_url: `${api_url}/docs`,
    temporal_ui_url,
    temporal_address,
    database_url,
    demo_model_url,
    token_file,
    pids: listPids(servers),
  };
}

const listPids = ({ pids }: Servers) => ({ api: process.pid, worker: process.pid, ...pids() });

/** Files that describe this installation while it runs: always one in its home, and one at the path from the environment. */
async function announceReady(config: Config, installation: Installation, resources: Resources): Promise<void> {
  for (const file of readyFiles(config)) resources.hold(file, (path) => rm(path, { force: true }));
  await writeReady(config, installation);
}

const readyFiles = ({ PERDURA_HOME, PERDURA_READY_FILE }: Config) =>
  [join(PERDURA_HOME, 'ready.json'), PERDURA_READY_FILE].filter((file) => file !== undefined);

async function writeReady(config: Config, installation: Installation): Promise<void> {
  for (const file of readyFiles(config)) await replaceFile(file, `${JSON.stringify(installation, null, 2)}\n`);
}

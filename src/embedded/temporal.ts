import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { msToTs } from '../vendor/temporal-internals.ts';
import { type Log, readJsonFile, readTail, replaceFile, trimLog } from './files.ts';
import { hasOpen, listens } from './listening.ts';
import { findFreePort, loadPort, savePort } from './ports.ts';
import { endProcess, findCommand, findMark, isAlive, type ProcessMark } from './processes.ts';
import type { Restartable } from './supervision.ts';
import { startUiGuard } from './temporal-guard.ts';
import { buildTuning, formatSettings, type Tuning, toDatabasePath } from './temporal-tuning.ts';

export { findTemporal } from './temporal-finder.ts';

interface TemporalOptions {
  executable: string;
  home: string;
  log: Log;
  /** The first ports to try, if those of the last start are unknown. */
  port?: number;
  ui_port?: number;
  /** How long the history of an ended run is kept. This applies to runs that end from now on. */
  retention_days?: number;
  /** The soft limit of the server's memory. Near it, the server spends most of its processor time on looking for free memory. */
  memory_mib?: number;
}

export interface Temporal extends Restartable {
  address: string;
  /** The URL of the web interface, behind the guard. */
  ui_url: string;
  /** All ports on which the server accepts connections. */
  ports: number[];
  /** The id of the process that serves now. */
  readonly pid: number;
  /** True if the server was still running from a start that was killed. */
  reused: boolean;
  /** Stops the server; resolves when it has ended. */
  stop(): Promise<void>;
}

interface Server extends ProcessMark, Places {
  /** The settings with which the server was started. A server with other settings is not taken over. */
  settings: string;
}

/** The addresses on which the server listens. */
interface Places {
  port: number;
  /** The address of the web interface itself, which only the guard calls. */
  ui_ip: string;
  ui_port: number;
  http_port: number;
  metrics_port: number;
}

const HOST = '127.0.0.1';
const UI_PORT = 8_233;
const ATTEMPTS = 3;
const START_LIMIT_MS = 60_000;
const DAY_MS = 24 * 3_600_000;

/** Starts the installation's own Temporal server with its web interface on loopback, or takes over one that still runs. */
export async function startTemporal(options: TemporalOptions): Promise<Temporal> {
  const { home } = options;
  const record = join(home, 'temporal/server.json');
  await mkdir(join(home, 'temporal'), { recursive: true, mode: 0o700 });
  const running_server = await takeOver(record, options);
  if (running_server) await keepRuns(running_server, options);
  let server = running_server ?? (await launch(options, record));
  const ui_port = await findFreePort((await loadPort(home, 'temporal-ui')) ?? options.ui_port ?? UI_PORT);
  const guard = await startUiGuard({ port: ui_port, target: { host: server.ui_ip, port: server.ui_port } });
  await savePort(home, 'temporal-ui', ui_port);
  return {
    address: `${HOST}:${server.port}`,
    ui_url: `http://${HOST}:${ui_port}`,
    ports: [server.port, ui_port, server.ui_port, server.http_port, server.metrics_port],
    get pid() {
      return server.pid;
    },
    name: 'Temporal',
    log_file: toLogPath(home),
    reused: running_server !== undefined,
    isUp: () => isAlive(server),
    async restart() {
      const again = await startOnce(options, record, server);
      if (!again) throw new Error(await describeFailedStart(home));
      server = again;
    },
    async stop() {
      await guard.close();
      await end(server, record);
    },
  };
}

/**
 * True if a process serves this database. One that has just been started has not opened the database yet, but names it in its
 * command.
 */
const serves = async (pid: number, database: string) =>
  (await hasOpen(pid, database)) ?? (await findCommand(pid)).split(' ').includes(database);

/**
 * Takes over a server that still runs. The record in a copied home names the server of the other home, which is left alone,
 * even if the other home is gone and the copy has taken its place.
 */
async function takeOver(record: string, options: TemporalOptions): Promise<Server | undefined> {
  const { home, log } = options;
  const server = await readJsonFile<Server>(record);
  if (!server || !(await isAlive(server)) || !(await serves(server.pid, toDatabasePath(home)))) return undefined;
  const current = server.settings === formatSettings(await buildTuning(options));
  if (current && (await answersWithin(server, 10_000))) return server;
  log(`Temporal, process ${server.pid}, ${current ? 'does not answer' : 'has other settings'}; restarting it`);
  await end(server, record, current ? 2_000 : undefined);
  return undefined;
}

const toLogPath = (home: string) => join(home, 'temporal/server.log');

async function describeFailedStart(home: string): Promise<string> {
  const log_file = toLogPath(home);
  return `Temporal did not start:\n${await readTail(log_file, 15)}\nIts log: ${log_file}`;
}

async function launch(options: TemporalOptions, record: string): Promise<Server> {
  const { home, port = 7233 } = options;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const first = attempt === 1 ? ((await loadPort(home, 'temporal')) ?? port) : 0;
    const server = await startOnce(options, record, await findPlaces(first));
    if (server) {
      await savePort(home, 'temporal', server.port);
      return server;
    }
  }
  throw new Error(await describeFailedStart(home));
}

/**
 * Starts the server once. Returns undefined if it did not start: another start on this machine may have taken its ports since
 * they were found free.
 */
async function startOnce(options: TemporalOptions, record: string, at: Places): Promise<Server | undefined> {
  const { executable, home } = options;
  const log_file = toLogPath(home);
  await trimLog(log_file);
  const { port, ui_ip, ui_port, http_port, metrics_port } = at;
  const tuning = await buildTuning(options);
  const server = await spawnServer(executable, { home, log_file, tuning, port, ui_ip, ui_port, http_port, metrics_port });
  await replaceFile(record, JSON.stringify(server));
  if (!(await answersWithin(server, START_LIMIT_MS))) {
    await end(server, record);
    return undefined;
  }
  await keepRuns(server, options);
  return server;
}

async function findPlaces(first: number): Promise<Places> {
  const ui_ip = pickLoopbackAddress();
  const port = await findFreePort(first);
  const [ui_port, http_port, metrics_port] = await Promise.all([findFreePort(0, ui_ip), findFreePort(), findFreePort()]);
  return { port, ui_ip, ui_port, http_port, metrics_port };
}

/**
 * Returns one of sixteen million loopback addresses, so that a page in a browser cannot find the web interface and bypass its
 * guard: the interface supports neither a password nor a list of allowed host names. Systems other than Linux have a single
 * address.
 */
const pickLoopbackAddress = () =>
  process.platform === 'linux' ? `127.${[randomInt(1, 255), randomInt(256), randomInt(1, 255)].join('.')}` : HOST;

interface Launch extends Places {
  home: string;
  log_file: string;
  tuning: Tuning;
}

/** Starts the server in a separate session, so that Ctrl-C reaches only this process, which ends the server after its clients. */
async function spawnServer(executable: string, { home, log_file, tuning, ...places }: Launch): Promise<Server> {
  const where = [
    '--ip',
    HOST,
    '--port',
    String(places.port),
    '--ui-ip',
    places.ui_ip,
    '--ui-port',
    String(places.ui_port),
    '--http-port',
    String(places.http_port),
    '--metrics-port',
    String(places.metrics_port),
    '--db-filename',
    toDatabasePath(home),
  ];
  const output = await open(log_file, 'a', 0o600);
  try {
    // env(1) adds to the environment instead of replacing it.
    const child = spawn('env', [...tuning.environment, executable, 'server', 'start-dev', ...where, ...tuning.flags], {
      detached: true,
      stdio: ['ignore', output.fd, output.fd],
    });
    await new Promise((done, fail) => child.once('spawn', done).once('error', fail));
    child.unref();
    const pid = child.pid!;
    const mark = (await findMark(pid)) ?? { pid, started: '' };
    return { ...mark, ...places, settings: formatSettings(tuning) };
  } finally {
    await output.close();
  }
}

async function answersWithin(server: Server, limit_ms: number): Promise<boolean> {
  for (const last = performance.now() + limit_ms; performance.now() < last && (await isAlive(server)); await sleep(50)) {
    if (await answers(server)) return true;
  }
  return false;
}

/** Sets the retention. The server's own setting is read only when its database is created. */
async function keepRuns({ port }: Server, { retention_days = 1 }: TemporalOptions): Promise<void> {
  const workflowExecutionRetentionTtl = msToTs(retention_days * DAY_MS);
  await withConnection(port, ({ workflowService }) =>
    workflowService.updateNamespace({ namespace: 'default', config: { workflowExecutionRetentionTtl } }),
  );
}

/**
 * True if the server answers. The ports are checked first, also because a refused gRPC connection is not retried for a whole
 * second.
 */
async function answers({ pid, port, ui_port }: Server): Promise<boolean> {
  if (!(await listens(pid, port)) || !(await listens(pid, ui_port))) return false;
  try {
    await withConnection(port, ({ workflowService }) => workflowService.describeNamespace({ namespace: 'default' }));
    return true;
  } catch {
    return false;
  }
}

async function withConnection<T>(port: number, use: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: `${HOST}:${port}`, connectTimeout: '2 seconds' });
  try {
    return await connection.withDeadline(Date.now() + 2_000, () => use(connection));
  } finally {
    await connection.close();
  }
}

async function end(server: Server, record: string, grace_ms = 15_000): Promise<void> {
  await endProcess(server, grace_ms);
  await rm(record, { force: true });
}

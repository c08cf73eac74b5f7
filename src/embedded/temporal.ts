import { spawn } from 'node:child_process';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { type Log, readJson, replaceFile, tailOf, trimLog } from './files.ts';
import { listens } from './listening.ts';
import { freePort, rememberedPort, rememberPort } from './ports.ts';
import { endProcess, isAlive, markOf, type ProcessMark } from './processes.ts';

export { findTemporal } from './temporal-finder.ts';

export interface TemporalOptions {
  executable: string;
  home: string;
  log: Log;
  /** The first ports to try, if those of the last start are not known. */
  port?: number;
  ui_port?: number;
}

export interface Temporal {
  address: string;
  ui_url: string;
  pid: number;
  /** It was still running, left behind by a start that was killed. */
  reused: boolean;
  /** Answers when the server is gone. */
  stop(): Promise<void>;
}

interface Server extends ProcessMark {
  port: number;
  ui_port: number;
  /** What it was started with: a server with other settings is not taken over. */
  settings: string;
}

const HOST = '127.0.0.1';
const SEARCH_ATTRIBUTES = [
  'PerduraOwner',
  'PerduraAgent',
  'PerduraWorkflow',
  'PerduraModel',
  'PerduraStatus',
  'PerduraWorkflowId',
];
/**
 * A development server waits a 50 ms tick before each task and syncs its disk at each transaction; these settings make it six times
 * faster. The journal survives any crash of a process; after a power loss the last moments may be missing here and are repaired from Postgres.
 */
const TUNING = [
  ...['journal_mode=wal', 'synchronous=normal'].flatMap((pragma) => ['--sqlite-pragma', pragma]),
  ...[
    'history.transferProcessorMaxPollRPS=10000',
    'history.timerProcessorMaxPollRPS=10000',
    'system.enableActivityEagerExecution=true',
  ].flatMap((value) => ['--dynamic-config-value', value]),
  ...SEARCH_ATTRIBUTES.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
  ...['--log-level', 'error'],
];
const ATTEMPTS = 3;
const START_LIMIT_MS = 60_000;

/** Starts the installation's own Temporal server with its web interface on loopback, or takes over the one that still runs. */
export async function startTemporal(options: TemporalOptions): Promise<Temporal> {
  const { home, log } = options;
  const record = join(home, 'temporal/server.json');
  await mkdir(join(home, 'temporal'), { recursive: true, mode: 0o700 });
  const left = await takeOver(record, log);
  const server = left ?? (await launch(options, record));
  return {
    address: `${HOST}:${server.port}`,
    ui_url: `http://${HOST}:${server.ui_port}`,
    pid: server.pid,
    reused: left !== undefined,
    stop: () => end(server, record),
  };
}

async function takeOver(record: string, log: Log): Promise<Server | undefined> {
  const server = await readJson<Server>(record);
  if (!server || !(await isAlive(server))) return undefined;
  const current = server.settings === TUNING.join(' ');
  if (current && (await answersWithin(server, 10_000))) return server;
  log(`Temporal, process ${server.pid}, ${current ? 'does not answer' : 'has other settings'}; starting it anew`);
  await end(server, record, current ? 2_000 : undefined);
  return undefined;
}

async function launch({ executable, home, port = 7233, ui_port = 8233 }: TemporalOptions, record: string): Promise<Server> {
  const log_file = join(home, 'temporal/server.log');
  await trimLog(log_file);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const ports =
      attempt === 1 ? await usualPorts(home, { port, ui_port }) : { port: await freePort(), ui_port: await freePort() };
    const server = await spawnServer(executable, { home, log_file, ...ports });
    await replaceFile(record, JSON.stringify(server));
    if (await answersWithin(server, START_LIMIT_MS)) {
      await Promise.all([
        keepRuns(server),
        rememberPort(home, 'temporal', ports.port),
        rememberPort(home, 'temporal-ui', ports.ui_port),
      ]);
      return server;
    }
    // Its ports may have been lost between looking and starting, to another start on the same machine.
    await end(server, record);
  }
  throw new Error(`Temporal did not start:\n${await tailOf(log_file, 15)}\nIts log: ${log_file}`);
}

async function usualPorts(home: string, { port, ui_port }: { port: number; ui_port: number }) {
  const last = await Promise.all([rememberedPort(home, 'temporal'), rememberedPort(home, 'temporal-ui')]);
  const first = await freePort(last[0] ?? port);
  const second = await freePort(last[1] ?? ui_port);
  return { port: first, ui_port: second === first ? await freePort() : second };
}

interface Launch {
  home: string;
  log_file: string;
  port: number;
  ui_port: number;
}

/** In a session of its own, so that Ctrl-C reaches us only and we end it when its clients are done. */
async function spawnServer(executable: string, { home, log_file, port, ui_port }: Launch): Promise<Server> {
  const where = [
    '--ip',
    HOST,
    '--port',
    String(port),
    '--ui-port',
    String(ui_port),
    '--db-filename',
    join(home, 'temporal/temporal.db'),
  ];
  const output = await open(log_file, 'a', 0o600);
  try {
    // Through env(1), which adds to the environment: fewer collections for more memory.
    const child = spawn('env', ['GOGC=400', executable, 'server', 'start-dev', ...where, ...TUNING], {
      detached: true,
      stdio: ['ignore', output.fd, output.fd],
    });
    await new Promise((done, fail) => child.once('spawn', done).once('error', fail));
    child.unref();
    const mark = (child.pid && (await markOf(child.pid))) || { pid: child.pid ?? 0, started: '' };
    return { ...mark, port, ui_port, settings: TUNING.join(' ') };
  } finally {
    await output.close();
  }
}

async function answersWithin(server: Server, limit_ms: number): Promise<boolean> {
  for (const last = Date.now() + limit_ms; Date.now() < last && (await isAlive(server)); await sleep(50)) {
    if (await answers(server)) return true;
  }
  return false;
}

/** Left alone, a finished run could be looked at for one day only. */
async function keepRuns({ port }: Server): Promise<void> {
  const workflowExecutionRetentionTtl = msToTs('7 days');
  await connected(port, ({ workflowService }) =>
    workflowService.updateNamespace({ namespace: 'default', config: { workflowExecutionRetentionTtl } }),
  );
}

/** Looks for the ports first, also because a refused gRPC connection is not tried again for a whole second. */
async function answers({ pid, port, ui_port }: Server): Promise<boolean> {
  if (!(await listens(pid, port)) || !(await listens(pid, ui_port))) return false;
  try {
    await connected(port, ({ workflowService }) => workflowService.describeNamespace({ namespace: 'default' }));
    return true;
  } catch {
    return false;
  }
}

async function connected<T>(port: number, use: (connection: Connection) => Promise<T>): Promise<T> {
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

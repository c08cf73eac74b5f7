import { mkdir, open, readdir, readlink, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { asAccount } from './account.ts';
import { exists, readIfExists, trimLog } from './files.ts';
import { findFreePort } from './ports.ts';
import { USER } from './postgres-access.ts';
import { give, type Place } from './postgres-place.ts';
import { endProcess, findCommand, findMark, isAlive, type ProcessMark, type ProgramResult, run } from './processes.ts';

export interface RunningCluster {
  mark: ProcessMark;
  port: number;
}

/**
 * Modest settings, because Postgres shares the machine with everything else; parallel queries would need more shared memory
 * than containers have. The statements on the path of a run find rows by key, so they need no new plan for each value.
 */
const SETTINGS = [
  'listen_addresses=127.0.0.1',
  // This path is relative to the data, whose own path may be too long or contain special characters.
  'unix_socket_directories=.',
  'max_connections=200',
  'shared_buffers=64MB',
  'max_parallel_workers_per_gather=0',
  'plan_cache_mode=force_generic_plan',
  'jit=off',
  'log_checkpoints=off',
  'timezone=UTC',
  'log_timezone=UTC',
];
const START_LIMIT_S = 180;
/** The longest socket path that systems accept. */
const SOCKET_PATH_BYTES = 103;
const CRASH_PATIENCE_MS = 8_000;

export const hasCluster = ({ data }: Place): Promise<boolean> => exists(join(data, 'PG_VERSION'));

const LOCALE = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];

/**
 * Creates the cluster next to its place and then moves it there, so that an interrupted start leaves nothing that looks like a
 * database.
 */
export async function createCluster(place: Place, password: string, locale: readonly string[] = LOCALE): Promise<void> {
  const draft = `${place.data}.new`;
  const password_file = `${place.data}.password`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await writeFile(password_file, `${password}\n`, { mode: 0o600 });
  await Promise.all([give(draft, place.account), give(password_file, place.account)]);
  try {
    const access = ['--auth=scram-sha-256', `--username=${USER}`, `--pwfile=${password_file}`];
    const { code, output } = await runProgram(place, 'initdb', ['-D', draft, '--encoding=UTF8', ...locale, ...access]);
    if (code !== 0) throw new Error(`Postgres could not create its database in ${place.data}: ${output.trim()}`);
    await rename(draft, place.data);
  } finally {
    await rm(password_file, { force: true });
  }
}

/**
 * Starts the server on the first free port from `first` on, or with `only` on `first` itself. Waits until a crashed server's
 * remains are gone.
 */
export async function launch(place: Place, first: number, { only = false } = {}): Promise<RunningCluster> {
  await removeForeignPidFile(place);
  await trimLog(place.log_file);
  const patience = performance.now() + CRASH_PATIENCE_MS;
  for (let next = first; ; await sleep(300)) {
    const port = await findFreePort(next);
    if (only && port !== first) throw new Error(`Postgres cannot be restarted: another process has taken its port ${first}`);
    const begin = (await stat(place.log_file)).size;
    const flags = [...SETTINGS, `port=${port}`].map((setting) => `-c ${setting}`).join(' ');
    const { code, output } = await runControl(place, 'start', [
      '-w',
      '-t',
      String(START_LIMIT_S),
      '-l',
      place.log_file,
      '-o',
      flags,
    ]);
    const server = code === 0 ? await runningServer(place) : undefined;
    if (server) return server;
    const log_tail = await readTail(place.log_file, begin);
    // Another program has taken the port since it was found free; on a slow machine that may be a long time.
    if (/could not bind/.test(log_tail)) next = port + 1;
    else if (performance.now() > patience || !/shared memory block|lock file/.test(log_tail)) {
      throw new Error(`Postgres did not start: ${output.trim()}\n${log_tail.trim()}\nIts log: ${place.log_file}`);
    }
  }
}

/**
 * Returns the directory of the server's socket, for users who may enter its data; null if there is no socket or its path is too
 * long.
 */
export async function socketDirectory({ data }: Place, { port }: RunningCluster): Promise<string | null> {
  const path = join(data, `.s.PGSQL.${port}`);
  return Buffer.byteLength(path) <= SOCKET_PATH_BYTES && (await exists(path)) ? data : null;
}

/** Shuts the server down fast: open transactions are rolled back, and the data is written to the disk. */
export async function stopServer(place: Place, mark: ProcessMark): Promise<void> {
  if (!(await isAlive(mark))) return;
  await runControl(place, 'stop', ['-m', 'fast', '-w', '-t', '30']);
  await endProcess(mark, 5_000);
}

/** Returns the server that runs on this data, according to its pid file. */
export async function runningServer({ data }: Place): Promise<RunningCluster | undefined> {
  const [pid, , , port] = ((await readIfExists(join(data, 'postmaster.pid'))) ?? '').split('\n').map(Number);
  const mark = pid ? await findMark(pid) : undefined;
  return mark && port && (await isOurs(mark.pid, data)) ? { mark, port } : undefined;
}

/**
 * Removes the pid file of a server that is gone. After a restart of the machine, the recorded id may belong to another process,
 * and Postgres would never start. The file also prevents two servers on the same data, so it is removed only if no process
 * works there.
 */
async function removeForeignPidFile({ data }: Place): Promise<void> {
  const file = join(data, 'postmaster.pid');
  const pid = Number(((await readIfExists(file)) ?? '').split('\n')[0]);
  if (!pid || !(await findMark(pid)) || (await isOurs(pid, data))) return;
  if (process.platform === 'linux' && (await listProcesses(data)).length === 0) await rm(file, { force: true });
}

async function isOurs(pid: number, data: string): Promise<boolean> {
  return process.platform === 'linux' ? (await listProcesses(data)).includes(pid) : (await findCommand(pid)).includes(data);
}

/**
 * Lists the processes of a Postgres server: all of them have its data as their working directory, whatever name the server was
 * started under.
 */
async function listProcesses(directory: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const places = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
  return pids.filter((_, index) => places[index] === directory).map(Number);
}

const runControl = (place: Place, verb: string, args: string[]): Promise<ProgramResult> =>
  runProgram(place, 'pg_ctl', [verb, '-D', place.data, ...args]);

const runProgram = (place: Place, name: string, args: string[]): Promise<ProgramResult> =>
  run(join(place.binaries, 'bin', name), args, asAccount(place.account));

async function readTail(file: string, begin: number): Promise<string> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const { buffer } = await handle.read({ buffer: Buffer.alloc(Math.max(0, size - begin)), position: begin });
    return buffer.toString();
  } finally {
    await handle.close();
  }
}

import { randomBytes } from 'node:crypto';
import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { keepFile, type Log } from './files.ts';
import { loadPort, savePort } from './ports.ts';
import { answers, connectionUrl, ensureDatabase, type PostgresAccess } from './postgres-access.ts';
import {
  createCluster,
  hasCluster,
  launch,
  type RunningCluster,
  runningServer,
  socketDirectory,
  stopServer,
} from './postgres-cluster.ts';
import { findPlace, type Place, ROOTS_FALLBACK } from './postgres-place.ts';
import { endProcess, isAlive } from './processes.ts';
import type { Restartable } from './supervision.ts';

export interface PostgresOptions {
  home: string;
  log: Log;
  /** The first port to try, if the port of the last start is unknown. */
  port?: number;
  fallback?: string;
}

export interface Postgres extends Restartable {
  url: string;
  /**
   * The URL through the server's socket, which is faster than loopback and needs access to the data. Equal to `url` if there is
   * no socket.
   */
  socket_url: string;
  /** The id of the process that serves now. */
  readonly pid: number;
  /** True if the server was still running from a start that was killed. */
  reused: boolean;
  /** Stops the server; resolves when it has ended. */
  stop(): Promise<void>;
}

const DATABASE = 'perdura';
const FIRST_PORT = 15_432;

/** Starts the installation's own Postgres on loopback, or takes over one that still runs on its data. */
export async function startPostgres({
  home,
  log,
  port = FIRST_PORT,
  fallback = ROOTS_FALLBACK,
}: PostgresOptions): Promise<Postgres> {
  await mkdir(home, { recursive: true, mode: 0o711 });
  const place = await findPlace({ home: await realpath(home), fallback, log });
  const password = await loadPassword(home, place);
  if (!(await hasCluster(place))) await createCluster(place, password);

  const running_server = await takeOver(place, { password, log });
  let server = running_server ?? (await launch(place, (await loadPort(home, 'postgres')) ?? port));
  await savePort(home, 'postgres', server.port);
  const access = { port: server.port, password };
  await ensureDatabase(access, DATABASE);
  const url = connectionUrl(access, DATABASE);
  const directory = await socketDirectory(place, server);
  return {
    url,
    socket_url: directory ? `${url}?host=${encodeURIComponent(directory)}` : url,
    get pid() {
      return server.mark.pid;
    },
    name: 'Postgres',
    log_file: place.log_file,
    reused: running_server !== undefined,
    isUp: () => isAlive(server.mark),
    async restart() {
      server = await launch(place, server.port, { only: true });
    },
    stop: () => stopServer(place, server.mark),
  };
}

async function loadPassword(home: string, place: Place): Promise<string> {
  const file = join(home, 'postgres/password');
  const { text, created } = await keepFile(file, () => randomBytes(24).toString('base64url'));
  if (!created || !(await hasCluster(place))) return text;
  throw new Error(`There is a database in ${place.data}, but its password is gone: restore ${file}.`);
}

/** Returns the server that runs on this data; undefined if none does, or if it did not respond and was ended. */
async function takeOver(place: Place, { password, log }: { password: string; log: Log }): Promise<RunningCluster | undefined> {
  const cluster = await runningServer(place);
  if (!cluster) return undefined;
  const access: PostgresAccess = { port: cluster.port, password };
  if (await answers(access, cluster.mark)) return cluster;
  log(`Postgres, process ${cluster.mark.pid}, does not answer; restarting it`);
  await endProcess(cluster.mark, 2_000);
  return undefined;
}

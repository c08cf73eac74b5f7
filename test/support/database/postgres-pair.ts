import { randomBytes } from 'node:crypto';
import { appendFile, chown, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type pg from 'pg';
import { asAccount } from '../../../src/embedded/account.ts';
import { connectionUrl, ensureDatabase, USER } from '../../../src/embedded/postgres-access.ts';
import { createCluster, launch, type RunningCluster } from '../../../src/embedded/postgres-cluster.ts';
import { findPlace, type Place, ROOTS_FALLBACK } from '../../../src/embedded/postgres-place.ts';
import { endProcess, isAlive, run } from '../../../src/embedded/processes.ts';
import { startDroppingProxy, throughProxy } from '../peers/dropping-proxy.ts';
import { until } from '../until.ts';
import { asOperator } from './operator.ts';

const DATABASE = 'perdura';
const FIRST_PORT = 27_432;

/** A Postgres behind one address that can be replaced by a copy of it: a restored one, or a promoted standby. */
export type PostgresPair = Awaited<ReturnType<typeof startPostgresPair>>;

export async function startPostgresPair(home: string) {
  const place = await findPlace({ home, fallback: ROOTS_FALLBACK, log: () => {} });
  const password = randomBytes(24).toString('base64url');
  await createCluster(place, password);
  const servers: { place: Place; server: RunningCluster }[] = [];
  const start = async (at: Place) => {
    const server = await launch(at, FIRST_PORT);
    servers.push({ place: at, server });
    return server;
  };
  const urlOf = (server: RunningCluster) => connectionUrl({ port: server.port, password }, DATABASE);
  let current = await start(place);
  await ensureDatabase({ port: current.port, password }, DATABASE);
  const [clients, replication] = [
    await startDroppingProxy(() => urlOf(current)),
    await startDroppingProxy(() => urlOf(servers[0]!.server)),
  ];

  /** Copies a server like `pg_basebackup`, which the embedded Postgres does not have. */
  async function copy(name: string): Promise<Place> {
    const copied: Place = { ...place, data: join(dirname(place.data), name), log_file: join(dirname(place.data), `${name}.log`) };
    await asOperator(urlOf(current), async (on) => {
      await on.query(`SELECT pg_backup_start('copy', true)`);
      await copyFolder(place.data, copied.data);
      const { rows } = await on.query('SELECT labelfile FROM pg_backup_stop(false)');
      await writeFile(join(copied.data, 'backup_label'), rows[0].labelfile);
    });
    await copyFolder(join(place.data, 'pg_wal'), join(copied.data, 'pg_wal'));
    await rm(join(copied.data, 'postmaster.pid'), { force: true });
    await writeFile(copied.log_file, '');
    await giveTo(place, [join(copied.data, 'backup_label'), copied.log_file]);
    return copied;
  }

  /** Simulates the loss of a machine: it sends nothing more to anybody. */
  async function lose(): Promise<void> {
    process.kill(current.mark.pid, 'SIGQUIT');
    await until('the server is gone', async () => !(await isAlive(current.mark)));
  }

  function serveBy(server: RunningCluster): void {
    current = server;
    clients.drop();
  }

  return {
    /** The address of whichever server serves now. */
    url: throughProxy(urlOf(current), clients),
    /** Backs up the whole server in its current state; `restore` makes the copy serve instead. */
    async backup() {
      const saved = await copy(`saved-${servers.length}`);
      return {
        async restore() {
          await lose();
          serveBy(await start(saved));
        },
      };
    },
    /** Starts a standby that has received everything so far. */
    async standby() {
      const copied = await copy(`standby-${servers.length}`);
      const { port } = new URL(replication.url);
      const conninfo = `host=127.0.0.1 port=${port} user=${USER} password=${password}`;
      await appendFile(join(copied.data, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
      await writeFile(join(copied.data, 'standby.signal'), '');
      await giveTo(place, [join(copied.data, 'standby.signal')]);
      const server = await start(copied);
      return {
        /** Waits until the standby has applied what the primary has written. */
        async catchUp() {
          const { rows } = await asOperator(urlOf(current), (on) => on.query('SELECT pg_current_wal_lsn() AS lsn'));
          const applied = (on: pg.Client) =>
            on.query('SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS is_applied', [rows[0].lsn]);
          await until('the standby has caught up', async () => (await asOperator(urlOf(server), applied)).rows[0].is_applied);
        },
        /** Stops replication to the standby. */
        fallBehind: () => void replication.silence({ fresh: true }),
        /** Loses the primary, and makes the standby serve instead. */
        async promote() {
          await lose();
          const args = ['promote', '-w', '-D', copied.data];
          const { code, output } = await run(join(place.binaries, 'bin/pg_ctl'), args, asAccount(place.account));
          if (code !== 0) throw new Error(`The standby was not promoted: ${output}`);
          serveBy(server);
        },
      };
    },
    async stop() {
      await Promise.all([clients.stop(), replication.stop()]);
      for (const { server } of servers) {
        if (await isAlive(server.mark)) process.kill(server.mark.pid, 'SIGQUIT');
        await endProcess(server.mark, 5_000);
      }
      for (const { place: at } of servers) await rm(at.data, { recursive: true, force: true });
    },
  };
}

/** Copies a folder with owners and modes. Files of a running server may come and go meanwhile. */
async function copyFolder(from: string, to: string): Promise<void> {
  await run('cp', ['-a', `${from}/.`, to]);
}

async function giveTo({ account: { uid, gid } }: Place, paths: string[]): Promise<void> {
  if (uid !== undefined && gid !== undefined) for (const path of paths) await chown(path, uid, gid);
}

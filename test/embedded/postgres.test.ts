import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { isRoot } from '../../src/embedded/account.ts';
import { savePort } from '../../src/embedded/ports.ts';
import { type PostgresOptions, startPostgres } from '../../src/embedded/postgres.ts';
import { findMark } from '../../src/embedded/processes.ts';
import { startAndDie, testBench } from '../support/harness/embedded-homes.ts';
import { freePort } from '../support/machine/processes.ts';

const bench = testBench();
// Outside the range where other tests start to look for ports, so that a restarted server finds its port free.
const start = async (options: Partial<PostgresOptions> & { home: string }) =>
  bench.keep(await startPostgres({ log: bench.log, port: 24_432, ...options }));

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const remember = (url: string) => query(url, 'CREATE TABLE kept AS SELECT 42 AS answer');
const recall = (url: string) => query(url, 'SELECT answer FROM kept');

describe('the Postgres of an installation', { timeout: 60_000 }, () => {
  afterEach(() => bench.clear());

  it('requires its password on loopback and on its socket, and listens nowhere else', async () => {
    const server = await start({ home: await bench.home() });
    const [{ data_directory: data, listen_addresses }] = (await query(
      server.url,
      "SELECT current_setting('data_directory') AS data_directory, current_setting('listen_addresses') AS listen_addresses",
    )) as [{ data_directory: string; listen_addresses: string }];
    expect(listen_addresses).toBe('127.0.0.1');
    // The socket is in the data directory, which other users of the machine cannot enter.
    expect((await stat(data)).mode & 0o077).toBe(0);
    for (const open of [server.url, server.socket_url]) {
      for (const password of ['', 'perdura', 'postgres']) {
        const url = new URL(open);
        url.password = password;
        await expect(query(url.href, 'SELECT 1'), `${open} ${password}`).rejects.toThrow(/password/i);
      }
    }
  });

  it('starts from a copy of a running home, next to it, with the stored data', async () => {
    const [home, copy] = [await bench.home(), await bench.home()];
    const first = await start({ home });
    await remember(first.url);
    await query(first.url, 'CHECKPOINT');
    spawnSync('cp', ['-a', `${home}/.`, copy]);
    const second = await start({ home: copy });
    expect(second.reused).toBe(false);
    expect(second.pid).not.toBe(first.pid);
    expect([await recall(first.url), await recall(second.url)]).toEqual([[{ answer: 42 }], [{ answer: 42 }]]);
  });

  it('keeps its data over a restart', async () => {
    const home = await bench.home();
    const first = await start({ home });
    await remember(first.url);
    await first.stop();
    await expect(query(first.url, 'SELECT 1')).rejects.toThrow();

    const second = await start({ home });
    expect(second).toMatchObject({ reused: false, url: first.url });
    expect(await recall(second.url)).toEqual([{ answer: 42 }]);
  });

  it('uses its socket, even if kill -9 left one behind, and loopback if the path is too long', async () => {
    const address = async ({ socket_url }: { socket_url: string }) =>
      (await query(socket_url, 'SELECT inet_server_addr() IS NULL AS by_socket'))[0];
    const home = await bench.home();
    const first = await start({ home });
    expect(await address(first)).toEqual({ by_socket: true });
    process.kill(first.pid, 'SIGKILL');
    expect(await address(await start({ home }))).toEqual({ by_socket: true });

    const parent = await bench.home();
    await chmod(parent, 0o711);
    const deep = await start({ home: join(parent, 'a'.repeat(80)), port: 15_532 });
    expect(deep.socket_url).toBe(deep.url);
  });

  it('restarts after kill -9 without losing data', async () => {
    const home = await bench.home();
    const first = await start({ home });
    await remember(first.url);
    process.kill(first.pid, 'SIGKILL');

    const second = await start({ home });
    expect(second.reused).toBe(false);
    expect(await recall(second.url)).toEqual([{ answer: 42 }]);
  });

  it('takes over the server of a killed process', async () => {
    const home = await bench.home();
    const left = await startAndDie('postgres', home);
    const taken = await start({ home });
    expect(taken).toMatchObject({ reused: true, pid: left.pid, url: left.url });
    await taken.stop();
    expect(await findMark(left.pid)).toBeUndefined();
  });

  it('restarts a server that does not answer at the port that it recorded', async () => {
    const [home, lines] = [await bench.home(), [] as string[]];
    const first = await start({ home });
    await remember(first.url);
    const record = join(home, 'postgres/data/postmaster.pid');
    const fields = (await readFile(record, 'utf8')).split('\n');
    await writeFile(record, fields.with(3, String(await freePort())).join('\n'));
    const second = await start({ home, log: (line) => lines.push(line) });
    expect(second.reused).toBe(false);
    expect(lines).toEqual([`Postgres, process ${first.pid}, does not answer; restarting it`]);
    expect(await recall(second.url)).toEqual([{ answer: 42 }]);
  });

  it('takes the next port if its port is occupied, and keeps it', async () => {
    const [home, blocker] = [await bench.home(), createServer().listen(0, '127.0.0.1')];
    await once(blocker, 'listening');
    bench.keep({ stop: async () => void blocker.close() });
    const taken = (blocker.address() as { port: number }).port;
    await savePort(home, 'postgres', taken);

    const first = await start({ home });
    expect(Number(new URL(first.url).port)).toBeGreaterThan(taken);
    await first.stop();
    expect((await start({ home })).url).toBe(first.url);
  });

  it('starts even if its recorded process id now belongs to another process', async () => {
    const home = await bench.home();
    await (await start({ home })).stop();
    const stranger = spawn('sleep', ['60'], isRoot() ? { uid: (await stat(join(home, 'postgres/data'))).uid } : {});
    bench.keep({ stop: async () => void stranger.kill() });
    const data = join(home, 'postgres/data');
    await writeFile(join(data, 'postmaster.pid'), `${stranger.pid}\n${data}\n1700000000\n5432\n\n127.0.0.1\n  1 1\nready\n`);
    expect((await start({ home })).reused).toBe(false);
  });

  it('runs next to the server of another installation', async () => {
    const [one, other] = await Promise.all([start({ home: await bench.home() }), start({ home: await bench.home() })]);
    await remember(one.url);
    await expect(recall(other.url)).rejects.toThrow('does not exist');
  });

  it('requires the password, which only its owner can read', async () => {
    const home = await bench.home();
    const { url } = await start({ home });
    const wrong = new URL(url);
    wrong.password = 'guessed';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
    expect((await stat(join(home, 'postgres/password'))).mode & 0o777).toBe(0o600);
    expect(await query(url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
  });

  it('starts nothing where its data was kept outside of the home and is gone', async () => {
    const home = await bench.home();
    await mkdir(join(home, 'postgres'));
    await symlink('/nonexistent/data', join(home, 'postgres/data'));
    await expect(start({ home })).rejects.toThrow(/^The database of this installation \w+ kept in \/nonexistent\/data, /);
  });

  it('reports a missing password of existing data', async () => {
    const home = await bench.home();
    await (await start({ home })).stop();
    await rm(join(home, 'postgres/password'));
    await expect(start({ home })).rejects.toThrow('its password is gone');
  });

  it.runIf(isRoot())('keeps its data where its user has access if root starts it under a closed directory', async () => {
    const closed = await bench.home();
    const [home, fallback] = [join(closed, 'home'), await bench.home()];
    await mkdir(home);
    await chmod(closed, 0o700);
    const lines: string[] = [];
    const first = await start({ home, fallback, log: (line) => lines.push(line) });
    await remember(first.url);
    await first.stop();

    expect(await readlink(join(home, 'postgres/data'))).toMatch(fallback);
    expect(lines.join()).toContain(fallback);
    const second = await start({ home, fallback });
    expect(await recall(second.url)).toEqual([{ answer: 42 }]);
    const copy = join(closed, 'copy');
    spawnSync('cp', ['-a', home, copy]);
    await expect(start({ home: copy, fallback })).rejects.toThrow(
      `${copy} is a copy of ${home}, whose database is in ${fallback}`,
    );
    expect(await recall(second.url)).toEqual([{ answer: 42 }]);
    await second.stop();
    const moved = join(closed, 'moved');
    await rename(home, moved);
    expect(await recall((await start({ home: moved, fallback })).url)).toEqual([{ answer: 42 }]);
  });
});

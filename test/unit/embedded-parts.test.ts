import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { isRoot } from '../../src/embedded/account.ts';
import { backUp, toPlainError } from '../../src/embedded/backup.ts';
import { hasOpen } from '../../src/embedded/listening.ts';
import { takeLock } from '../../src/embedded/lock-file.ts';
import { findFreePort, loadPort, reservePort } from '../../src/embedded/ports.ts';
import { answers } from '../../src/embedded/postgres-access.ts';
import { createCluster, launch } from '../../src/embedded/postgres-cluster.ts';
import { findPlace } from '../../src/embedded/postgres-place.ts';
import { endProcess, findMark } from '../../src/embedded/processes.ts';
import { startUiGuard } from '../../src/embedded/temporal-guard.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-embedded-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const own = () => findMark(process.pid) as Promise<NonNullable<Awaited<ReturnType<typeof findMark>>>>;

async function listenWith(answer: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => answer(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe('a Postgres that is asked if it answers', () => {
  /** What a server sends that does not take a connection. */
  const refusal = (code: string) => {
    const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mrefused with ${code}\0\0`);
    return Buffer.concat([Buffer.from('E'), Buffer.from([0, 0, 0, fields.length + 4]), fields]);
  };

  it('is waited for while it starts or drops connections, and its refusal is reported', async () => {
    const left = [null, '57P03', '28P01'];
    const port = await listenWith((socket) => {
      socket.once('data', () => {
        const code = left.shift();
        if (code) socket.end(refusal(code));
        else socket.destroy();
      });
    });
    await expect(answers({ port, password: 'x' }, await own())).rejects.toThrow('refused with 28P01');
    expect(left).toEqual([]);
  });

  it('does not answer once its process has ended', async () => {
    const port = await findFreePort(24_931);
    expect(await answers({ port, password: 'x' }, { ...(await own()), started: 'long ago' })).toBe(false);
  });
});

describe('programs of Postgres that fail', () => {
  /** A place whose programs are shell scripts. */
  async function placeWith(programs: Record<string, string>) {
    const binaries = join(home, 'binaries');
    await mkdir(join(binaries, 'bin'), { recursive: true });
    for (const [name, script] of Object.entries(programs)) {
      await writeFile(join(binaries, 'bin', name), `#!/bin/sh\n${script}\n`);
      await chmod(join(binaries, 'bin', name), 0o755);
    }
    const [data, log_file] = [join(home, 'data'), join(home, 'server.log')];
    await mkdir(data);
    await writeFile(log_file, '');
    return { account: { name: 'this user' }, binaries, data, log_file };
  }

  it('leave no password behind, and no data that looks complete', async () => {
    const place = await placeWith({ initdb: 'echo "initdb: out of luck"; exit 3' });
    await rm(place.data, { recursive: true });
    await expect(createCluster(place, 'secret')).rejects.toThrow(
      `Postgres could not create its database in ${place.data}: initdb: out of luck`,
    );
    expect((await readdir(home)).sort()).toEqual(['binaries', 'data.new', 'server.log']);
  });

  it('are started with the next port if somebody has taken the first one since it was found free', async () => {
    const place = await placeWith({
      // In the place of the server, a process works in its data.
      pg_ctl: `case "$*" in *port=$(cat "$3/../first")*) echo 'could not bind IPv4 address "127.0.0.1"' >> "$8"; exit 1;; esac
      (cd "$3" && exec sleep 60 > /dev/null 2>&1) & printf '%s\\n\\n\\n%s\\n' $! "\${10##*port=}" > "$3/postmaster.pid"`,
    });
    const first = await findFreePort(24_941);
    await writeFile(join(home, 'first'), String(first));
    const { mark, port } = await launch(place, first);
    await endProcess(mark, 1_000);
    expect(port).toBe(await findFreePort(first + 1));
  });

  it('are reported with what they have logged', async () => {
    const place = await placeWith({ pg_ctl: 'echo stopped waiting; echo "FATAL: no room" >> "$8"; exit 1' });
    const failed = launch(place, await findFreePort(24_951));
    await expect(failed).rejects.toThrow(`Postgres did not start: stopped waiting\nFATAL: no room\nIts log: ${place.log_file}`);
  });

  it('are not started again on another port', async () => {
    const place = await placeWith({});
    const port = await listenWith(() => {});
    await expect(launch(place, port, { only: true })).rejects.toThrow(
      `Postgres cannot be restarted: another process has taken its port ${port}`,
    );
  });
});

describe.runIf(isRoot())('a home under a directory that only root may enter', () => {
  const find = async (fallback: string) => {
    await chmod(home, 0o700);
    return findPlace({ home: join(home, 'inner'), fallback, log: () => {} });
  };

  it('with a database from elsewhere is refused', async () => {
    await mkdir(join(home, 'inner/postgres/data'), { recursive: true });
    await expect(find('/nowhere')).rejects.toThrow(/^The database in .*inner\/postgres belongs to \w+, who cannot enter that/);
  });

  it('is refused if its user cannot reach the fallback either', async () => {
    const sentence = `Postgres has to run as user \\w+, who can reach neither ${home}/inner/postgres nor ${home}/fallback/`;
    await expect(find(join(home, 'fallback'))).rejects.toThrow(new RegExp(sentence));
  });
});

it('a file that a process has not opened differs from one that was replaced', async () => {
  expect(await hasOpen(process.pid, join(home, 'nobody-opened-it'))).toBeNull();
});

describe('a backup of a home in which something runs', () => {
  const pids = { api: process.pid, postgres: 7, temporal: 11 };
  it.each<[string, object | null, RegExp]>([
    ['is starting', null, /^Perdura, process \d+, is starting or stopping in .*\. Try again when it is ready\.$/],
    ['has the addresses of an earlier one', { pids: { ...pids, api: 1 } }, /is starting or stopping/],
    ['has an external database', { pids: { ...pids, postgres: null } }, /runs with an external database or engine/],
    ['has an external engine', { pids: { ...pids, temporal: null } }, /runs with an external database or engine/],
    // Nothing listens there.
    ['is ready', { pids, database_url: 'postgres://u@127.0.0.1:1/d' }, /ECONNREFUSED/],
  ])('that %s', async (_, ready, sentence) => {
    await mkdir(join(home, 'postgres/data'), { recursive: true });
    await mkdir(join(home, 'temporal'));
    await writeFile(join(home, 'temporal/temporal.db'), '');
    if (ready) await writeFile(join(home, 'ready.json'), JSON.stringify(ready));
    const lock = await takeLock(join(home, 'dev.lock'));
    const options = { home, file: join(home, 'backup'), version: 'test', with_key: true, force: false, log: () => {} };
    await expect(backUp({ ...options, signal: new AbortController().signal })).rejects.toThrow(sentence);
    expect(await readdir(home)).not.toContain('backup');
    if (lock.held) await lock.release();
  });
});

describe('the guard of the Temporal UI', () => {
  async function ask(answer: (response: ServerResponse) => void) {
    const ui = createHttpServer((_, response) => answer(response)).listen(0, '127.0.0.1');
    await once(ui, 'listening');
    const port = await findFreePort(24_961);
    const guard = await startUiGuard({ port, target: { host: '127.0.0.1', port: (ui.address() as AddressInfo).port } });
    try {
      const response = await fetch(`http://127.0.0.1:${port}/`);
      return [response.status, await response.text().catch(() => 'broken off')];
    } finally {
      await guard.close();
      ui.closeAllConnections();
      ui.close();
    }
  }

  it.each<[string, (response: ServerResponse) => void, unknown[]]>([
    ['that does not answer', (response) => response.destroy(), [502, 'The Temporal UI does not answer\n']],
    [
      'that breaks off its answer',
      (response) => {
        response.writeHead(200);
        response.write('abc', () => response.socket?.resetAndDestroy());
      },
      [200, 'broken off'],
    ],
    ['that answers', (response) => response.end('whole'), [200, 'whole']],
  ])('passes on an interface %s', async (_, answer, shown) => {
    expect(await ask(answer)).toEqual(shown);
  });
});

it('the port of a service is the configured one, or the next, and is kept only if none is configured', async () => {
  const taken = await listenWith(() => {});
  expect(await reservePort(home, 'api', 1, { configured: taken, host: '127.0.0.1' })).toBe(await findFreePort(taken));
  expect(await loadPort(home, 'api')).toBeUndefined();
  const kept = await reservePort(home, 'api', await findFreePort(24_971));
  const free = await findFreePort(24_981);
  expect(await reservePort(home, 'api', 1, { configured: free })).toBe(free);
  expect(await loadPort(home, 'api')).toBe(kept);
});

it.each([
  [Object.assign(new Error('terminating connection'), { code: '57P01' }), /^Perdura was stopped while its database was copied/],
  [new Error('Connection terminated unexpectedly'), /^Perdura was stopped while its database was copied/],
  [new Error('write ENOSPC'), /^The disk of \/kept is full/],
  [Object.assign(new Error('no'), { path: '/kept/b.tar.perdura-part/x' }), /^\/kept cannot be written to: no$/],
  [Object.assign(new Error('denied'), { code: '42501', path: '/other' }), /^denied$/],
])('a backup that fails reports the reason: %s', (error, sentence) => {
  expect(toPlainError(error, '/kept/b.tar').message).toMatch(sentence);
});

import { spawn, spawnSync } from 'node:child_process';
import { cp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { lockInstallation } from '../../src/embedded/installation-lock.ts';
import { encryptionKey, localToken } from '../../src/embedded/local-identity.ts';
import { findFreePort, loadPort, reservePort } from '../../src/embedded/ports.ts';
import { endProcess, findMark } from '../../src/embedded/processes.ts';
import { testBench } from '../support/harness/embedded-homes.ts';

const bench = testBench();
afterEach(() => bench.clear());

describe('the lock of an installation', () => {
  it('admits one process and names it to the next, until it is released', async () => {
    const home = await bench.home();
    const lock = await lockInstallation(home);
    await expect(lockInstallation(home)).rejects.toThrow(`process ${process.pid}`);
    await lock.release();
    await (await lockInstallation(home)).release();
  });

  it('is taken over from an ended process, even if its process id is in use again', async () => {
    const home = await bench.home();
    for (const left of [{ pid: 999_999_999, started: 'x' }, { pid: process.pid, started: 'another time' }, 'not a lock']) {
      await writeFile(join(home, 'dev.lock.1'), JSON.stringify(left));
      await (await lockInstallation(home)).release();
      expect(await readdir(home)).toEqual(['dev.lock.2']);
      await rm(join(home, 'dev.lock.2'));
    }
  });

  it('does not hold for a copy of the home, and does for a home that was moved', async () => {
    const [home, copy] = [await bench.home(), await bench.home()];
    await lockInstallation(home);
    await cp(home, copy, { recursive: true });
    await (await lockInstallation(copy)).release();
    const moved = `${home}-moved`;
    await rename(home, moved);
    bench.keep({ stop: () => rm(moved, { recursive: true }) });
    await expect(lockInstallation(moved)).rejects.toThrow(`process ${process.pid}`);
  });

  it('says in one sentence that the home cannot be written to', async () => {
    const home = await bench.home();
    await writeFile(join(home, 'file'), '');
    await expect(lockInstallation(join(home, 'file'))).rejects.toThrow(
      /^Perdura cannot write to its home \S+\/file: it is not a directory\. /,
    );
  });

  it('names the reason why the home cannot be made', async () => {
    const home = join(await bench.home(), 'x'.repeat(300));
    await expect(lockInstallation(home)).rejects.toThrow(/^Perdura cannot write to its home \S+: ENAMETOOLONG: /);
  });

  it('names a file system that is read-only', async (test) => {
    const home = await bench.home();
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro,size=64k', 'perdura-test', home]).status === 0;
    if (!mounted) return test.skip('this process may not mount a file system');
    bench.keep({ stop: async () => void spawnSync('umount', [home]) });
    await expect(lockInstallation(home)).rejects.toThrow(/its file system is read-only\. Make it writable/);
  });

  it('goes to exactly one of many simultaneous processes', async () => {
    const home = await bench.home();
    for (let round = 1; round <= 25; round++) {
      await writeFile(join(home, `dev.lock.${round}`), JSON.stringify({ pid: 999_999_999, started: 'x' }));
      const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => lockInstallation(home)));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    }
  });
});

const nothingSealed = async () => false;

describe('the secrets of an installation', () => {
  it('are created once, stay the same and are readable only by their owner', async () => {
    const home = await bench.home();
    const [first, key] = [await localToken(home), await encryptionKey(home, nothingSealed)];
    expect(first).toMatchObject({ created: true, token: expect.stringMatching(/^perdura_[\w-]{43}$/) });
    expect(Buffer.from(key.key, 'base64')).toHaveLength(32);
    expect(await localToken(home)).toEqual({ ...first, created: false });
    expect(await encryptionKey(home, nothingSealed)).toEqual({ ...key, created: false });
    for (const file of [first.token_file, key.key_file]) expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('are the same for two simultaneous starts', async () => {
    const home = await bench.home();
    const made = await Promise.all(Array.from({ length: 10 }, () => localToken(home)));
    expect(new Set(made.map(({ token }) => token)).size).toBe(1);
    expect(made.filter(({ created }) => created)).toHaveLength(1);
  });

  it('are never replaced if their file is empty', async () => {
    const home = await bench.home();
    await writeFile(join(home, 'encryption-key'), '');
    await expect(encryptionKey(home, nothingSealed)).rejects.toThrow('is empty');
    expect(await readFile(join(home, 'encryption-key'), 'utf8')).toBe('');
  });
});

describe('ports', () => {
  it('are kept between starts and replaced if another process has them', async () => {
    const home = await bench.home();
    await expect(findFreePort(0, '192.0.2.1')).rejects.toThrow('EADDRNOTAVAIL');
    const port = await reservePort(home, 'api', await findFreePort(23_000));
    expect(await reservePort(home, 'api', 1)).toBe(port);
    const blocker = createServer().listen(port, '127.0.0.1');
    bench.keep({ stop: async () => void blocker.close() });
    await new Promise((done) => blocker.once('listening', done));
    const next = await reservePort(home, 'api', port);
    expect(next).toBeGreaterThan(port);
    expect(await loadPort(home, 'api')).toBe(next);
  });
});

describe('processes', () => {
  it('end on SIGTERM, or are killed if they ignore it', async () => {
    for (const script of ['setInterval(() => {}, 1000)', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]) {
      const child = spawn(process.execPath, ['-e', `${script}; console.log('ready')`], { stdio: ['ignore', 'pipe', 'ignore'] });
      await new Promise((done) => child.stdout.once('data', done));
      const mark = await findMark(child.pid!);
      await endProcess(mark!, 300);
      expect(await findMark(child.pid!)).toBeUndefined();
    }
  });
});

import { spawnSync } from 'node:child_process';
import { chmod, mkdir, open, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { pack, unpack } from '../../src/embedded/archive.ts';
import { type BackupOptions, backUp } from '../../src/embedded/backup.ts';
import type { Manifest } from '../../src/embedded/backup-contents.ts';
import { startPostgres } from '../../src/embedded/postgres.ts';
import { restore } from '../../src/embedded/restore.ts';
import { MIGRATIONS } from '../../src/main/places.ts';
import { testBench } from '../support/harness/embedded-homes.ts';
import { perdura } from '../support/machine/processes.ts';

const kept = testBench();
const bench = testBench();
afterEach(() => bench.clear());
afterAll(() => kept.clear());

const never = new AbortController().signal;
const log = () => {};
let home: string;
let engine: DatabaseSync;

/** A home as it is while nothing runs there: a cluster, an engine whose last writes are still in its journal, and secrets. */
beforeAll(async () => {
  home = await kept.home();
  await chmod(home, 0o711);
  const postgres = await startPostgres({ home, log });
  await query(postgres.url, 'CREATE TABLE things (name text); INSERT INTO things VALUES ($$kept$$)');
  await postgres.stop();
  await mkdir(join(home, 'temporal'));
  // The engine's own schema quotes the paths of its generated columns in this way.
  engine = new DatabaseSync(join(home, 'temporal/temporal.db'), { enableDoubleQuotedStringLiterals: true });
  engine.exec('PRAGMA journal_mode = wal; CREATE TABLE runs (id TEXT, half TEXT AS (json_extract(id, "$.half")));');
  engine.exec('INSERT INTO runs (id) VALUES (1), (2)');
  for (const name of ['encryption-key', 'local-token', 'webhook-secret'])
    await writeFile(join(home, name), `${name}\n`, { mode: 0o600 });
  await mkdir(join(home, 'workspaces/one'), { recursive: true });
  await writeFile(join(home, 'workspaces/one/-odd: name'), 'from a run');
  await mkdir(join(home, 'mcp-state/a-server/a-person/.config'), { recursive: true });
  await writeFile(join(home, 'mcp-state/a-server/a-person/.config/kept'), 'by a server', { mode: 0 });
  await chmod(join(home, 'mcp-state/a-server/a-person/.config'), 0o300);
});
afterAll(() => engine.close());

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const backup = (file: string, more: Partial<BackupOptions> = {}) =>
  backUp({ home, file, version: 'test', with_key: true, force: false, signal: never, log, ...more });

const restoreTo = (home: string, file: string) => restore({ home, file, migrations_folder: MIGRATIONS, log });

async function emptyHome(): Promise<string> {
  const parent = await bench.home();
  await chmod(parent, 0o711);
  return join(parent, 'home');
}

const filesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

describe('a backup of a home where nothing runs', () => {
  it('is restored to the same databases, secrets and files', async () => {
    const target = await emptyHome();
    const file = join(await bench.home(), 'at 12:00.backup');
    expect(await backup(file)).toBe((await stat(file)).size);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await filesIn(join(file, '..'))).toEqual(['at 12:00.backup']);
    expect(await restoreTo(target, file)).toMatchObject({ with_key: true, perdura: 'test' });

    const postgres = bench.keep(await startPostgres({ home: target, log }));
    expect(await query(postgres.url, 'SELECT * FROM things')).toEqual([{ name: 'kept' }]);
    const copy = new DatabaseSync(join(target, 'temporal/temporal.db'));
    expect(copy.prepare('SELECT count(*) AS runs FROM runs').get()).toEqual({ runs: 2 });
    copy.close();
    expect(await readFile(join(target, 'workspaces/one/-odd: name'), 'utf8')).toBe('from a run');
    // Root may read files without the right to; others need it for a backup.
    expect(await readFile(join(target, 'mcp-state/a-server/a-person/.config/kept'), 'utf8')).toBe('by a server');
    expect((await stat(join(target, 'mcp-state/a-server/a-person/.config/kept'))).mode & 0o777).toBe(0o400);
    for (const name of ['encryption-key', 'local-token', 'webhook-secret']) {
      expect(await readFile(join(target, name), 'utf8')).toBe(`${name}\n`);
      expect((await stat(join(target, name))).mode & 0o777).toBe(0o600);
    }
    expect(await filesIn(target)).toContain('restored');
    expect(await filesIn(target)).not.toContain('restore.part');
  });

  it('can leave the encryption key out', async () => {
    const target = await emptyHome();
    const file = join(await bench.home(), 'backup');
    const taken = perdura('backup', { PERDURA_HOME: home }, [file, '--without-key', '--json']);
    expect(await taken.closed).toEqual([0, null]);
    expect(taken.output()).toContain(`It does not contain the encryption key: keep ${home}/encryption-key elsewhere.`);
    expect(taken.output()).toMatch(/\{\n {2}"file": "\S+\/backup",\n {2}"bytes": \d{5,},\n {2}"with_key": false\n\}/);
    expect(spawnSync('tar', ['-xzOf', file]).stdout.includes('encryption-key\n')).toBe(false);
    const restored = perdura('restore', { PERDURA_HOME: target }, [file, '--json']);
    expect(await restored.closed).toEqual([0, null]);
    expect(restored.output()).toMatch(/\{\n {2}"home": "\S+",\n {2}"taken_at": "20\S+",\n {2}"with_key": false\n\}/);
    expect(restored.output()).toContain(`Its encryption key is not in the backup: put it in ${target}/encryption-key`);
    expect(await filesIn(target)).not.toContain('encryption-key');
  });

  it('is restored where root keeps the database outside of the home', async (test) => {
    if (process.getuid?.() !== 0) return test.skip('only root does');
    const [target, fallback] = [join(await bench.home(), 'home'), await bench.home()];
    await chmod(fallback, 0o711);
    const file = join(await bench.home(), 'backup');
    await backup(file);
    await restore({ home: target, file, migrations_folder: MIGRATIONS, fallback, log });
    const postgres = bench.keep(await startPostgres({ home: target, fallback, log }));
    expect(await query(postgres.url, 'SELECT * FROM things')).toEqual([{ name: 'kept' }]);
    expect((await filesIn(fallback)).length).toBeGreaterThan(0);
  });

  it('replaces a file only with force', async () => {
    const file = join(await bench.home(), 'backup');
    await writeFile(file, 'another file');
    await expect(backup(file)).rejects.toThrow(/exists\. Choose another name, or replace it with --force\.$/);
    expect(await readFile(file, 'utf8')).toBe('another file');
    await backup(file, { force: true });
    expect((await stat(file)).size).toBeGreaterThan(1_000);
  });

  it('ends in one sentence and leaves no file when the disk is full, or when it is stopped', async (test) => {
    const stop = new AbortController();
    const folder = await bench.home();
    const stopped = backup(join(folder, 'backup'), { signal: stop.signal });
    stop.abort();
    await expect(stopped).rejects.toThrow('Stopped: no backup was written');
    expect(await filesIn(folder)).toEqual([]);

    const disk = await bench.home();
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'perdura-test', disk]).status === 0;
    if (!mounted) return test.skip('this process may not mount a file system');
    bench.keep({ stop: async () => void spawnSync('umount', [disk]) });
    await expect(backup(join(disk, 'backup'))).rejects.toThrow(/^The disk of \S+ is full, and no backup was written\./);
    expect(await filesIn(disk)).toEqual([]);
  });

  it('names what is missing', async () => {
    const file = join(await bench.home(), 'backup');
    await expect(backup(file, { home: await bench.home() })).rejects.toThrow(/^There is no installation in /);
    const half = await bench.home();
    await mkdir(join(half, 'temporal'));
    await writeFile(join(half, 'temporal/temporal.db'), '');
    await expect(backup(file, { home: half })).rejects.toThrow('uses an external database or engine');
    await expect(backup(join(file, 'nowhere', 'backup'))).rejects.toThrow(/cannot be written to/);
  });
});

describe('a file that cannot be restored is refused in one sentence, and nothing is written', () => {
  let whole: string;
  beforeAll(async () => {
    whole = join(await kept.home(), 'backup');
    await backup(whole);
  });

  /** The backup with another description. */
  async function described(change: Partial<Manifest>): Promise<string> {
    const folder = await bench.home();
    await unpack(whole, folder);
    const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'));
    await writeFile(join(folder, 'manifest.json'), JSON.stringify({ ...manifest, ...change }));
    const file = join(await bench.home(), 'backup');
    await pack(file, [{ folder, paths: ['manifest.json', 'temporal.db', 'postgres.tar'] }], never);
    return file;
  }

  async function copyOf(change: (file: string) => Promise<unknown>): Promise<string> {
    const file = join(await bench.home(), 'backup');
    await writeFile(file, await readFile(whole));
    await change(file);
    return file;
  }

  async function spoil(file: string): Promise<void> {
    const handle = await open(file, 'r+');
    await handle.write(Buffer.alloc(64, 7), 0, 64, Math.round((await handle.stat()).size / 2));
    await handle.close();
  }

  const NEWER = [{ migration_name: '99991231000000_of_the_future', logs: null }];
  const cases: [string, () => Promise<string>, RegExp][] = [
    ['truncated', () => copyOf(async (file) => truncate(file, (await stat(file)).size - 10_000)), /is damaged or incomplete: /],
    ['spoiled', () => copyOf(spoil), /is damaged or incomplete: /],
    ['empty', () => copyOf((file) => truncate(file, 0)), /is damaged or incomplete: |is not a backup/],
    ['another file', () => copyOf((file) => writeFile(file, 'a letter')), /is damaged or incomplete: /],
    ['not there', () => copyOf((file) => rm(file)), /cannot be read: /],
    ['of a newer schema', () => described({ migrations: NEWER }), /newer than this version .*99991231000000_of_the_future/],
    ['of another Postgres', () => described({ postgres: '17' }), /holds files of Postgres 17 /],
    ['of another processor', () => described({ processor: 'pdp11' }), /for pdp11 processors/],
    [
      'a packed folder',
      () => copyOf((file) => pack(file, [{ folder: home, paths: ['local-token'] }], never)),
      /is not a backup that this version of Perdura can read/,
    ],
    ['of another format', () => described({ format: 2 as 1 }), /is not a backup that this version of Perdura can read/],
  ];
  it.each(cases)('%s', async (_, make, sentence) => {
    const [file, target] = [await make(), await emptyHome()];
    const refusal = await restoreTo(target, file).then(
      () => 'restored',
      (error: Error) => error.message,
    );
    expect(refusal).toMatch(sentence);
    expect(refusal.split('\n')).toHaveLength(1);
    expect(await filesIn(join(target, '..'))).toEqual([]);
  });

  it('into a home that is in use', async () => {
    await expect(restoreTo(home, whole)).rejects.toThrow(
      /is not empty: it holds .*encryption-key.*Move it away, or set PERDURA_HOME/,
    );
  });

  it('into a home whose disk is full, or that is a file', async (test) => {
    await expect(restoreTo(whole, whole)).rejects.toThrow(/^Perdura cannot write to its home /);
    const disk = await bench.home();
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'perdura-test', disk]).status === 0;
    if (!mounted) return test.skip('this process may not mount a file system');
    bench.keep({ stop: async () => void spawnSync('umount', [disk]) });
    await expect(restoreTo(disk, whole)).rejects.toThrow(/could not be unpacked into .* and nothing was left there: /);
    expect((await filesIn(disk)).filter((name) => !name.startsWith('dev.lock'))).toEqual([]);
  });

  it.runIf(process.getuid?.() === 0)('with a damaged database, also where root keeps that outside of the home', async () => {
    const [folder, closed, fallback] = [await bench.home(), await bench.home(), await bench.home()];
    await unpack(whole, folder);
    await writeFile(join(folder, 'postgres.tar'), 'no archive');
    const file = join(await bench.home(), 'backup');
    await pack(file, [{ folder, paths: ['manifest.json', 'temporal.db', 'postgres.tar'] }], never);
    await Promise.all([chmod(closed, 0o700), chmod(fallback, 0o711)]);
    const target = join(closed, 'home');
    const restoring = restore({ home: target, file, migrations_folder: MIGRATIONS, fallback, log });
    await expect(restoring).rejects.toThrow(/could not be unpacked into .* and nothing was left there: /);
    expect((await filesIn(target)).filter((name) => !name.startsWith('dev.lock'))).toEqual([]);
    // The shelf of programs stays.
    expect((await filesIn(fallback)).filter((name) => /^[0-9a-f]{16}$/.test(name))).toEqual([]);
  });

  it('into a home with logs and programs only, it can', async () => {
    const target = await emptyHome();
    await mkdir(join(target, 'bin'), { recursive: true });
    await Promise.all(['install.log', 'install.lock.1', 'bin/temporal'].map((name) => writeFile(join(target, name), '')));
    await restoreTo(target, whole);
  });
});

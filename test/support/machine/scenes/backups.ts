import { existsSync, mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pack, unpack } from '../../../../src/embedded/archive.ts';
import { type BackupOptions, backUp } from '../../../../src/embedded/backup.ts';
import { CLUSTER_COPY, ENGINE_COPY, MANIFEST } from '../../../../src/embedded/backup-contents.ts';
import { startPostgres } from '../../../../src/embedded/postgres.ts';
import { restore } from '../../../../src/embedded/restore.ts';
import { MIGRATIONS } from '../../../../src/main/places.ts';
import type { Scene, Stage } from './scenes.ts';

const log = () => {};
const never = new AbortController().signal;

/** Backups of a home in which nothing runs, and what is restored from them. */
export async function open(folder: string): Promise<Stage> {
  const home = join(folder, 'installation');
  const fallback = join(folder, 'fallback');
  for (const place of [home, fallback]) await mkdir(place, { mode: 0o711 });
  await chmod(home, 0o711);
  await (await startPostgres({ home, log })).stop();
  await mkdir(join(home, 'temporal'));
  const engine = new DatabaseSync(join(home, 'temporal/temporal.db'));
  engine.exec('PRAGMA journal_mode = wal; CREATE TABLE runs (id TEXT)');
  for (const name of ['encryption-key', 'local-token', 'webhook-secret']) writeFileSync(join(home, name), name);
  const [file, kept] = [join(folder, 'backup'), join(folder, 'kept')];
  const take = async (more: Partial<BackupOptions> = {}) =>
    (await backUp({ home, file, version: 'test', with_key: true, force: false, signal: never, log, ...more })) > 0
      ? 'written'
      : 'empty';
  await take({ file: kept });

  /** Restores a file to a new home, which is then removed. */
  const bring = async (source: string) => {
    const target = join(folder, 'restored');
    const outcome = await restore({ home: target, file: source, migrations_folder: MIGRATIONS, fallback, log }).then(
      () => (existsSync(join(target, 'postgres/data/PG_VERSION')) ? 'restored' : 'incomplete'),
      (error: Error) => error.message,
    );
    const rest = outcome === 'restored' ? [] : (['postgres', 'temporal', 'restore.part', 'encryption-key'] as const);
    const left = rest.filter((name) => existsSync(join(target, name)));
    rmSync(target, { recursive: true, force: true });
    return [outcome, ...left].join(' ');
  };
  const bringFrom = async (change: (copy: string) => unknown) => {
    const copy = join(folder, 'copy');
    await copyFile(kept, copy);
    await change(copy);
    return bring(copy).finally(() => rmSync(copy));
  };
  /** Packs a backup again with a cluster that cannot be unpacked. */
  const breakCluster = async (copy: string) => {
    const inside = join(folder, 'inside');
    mkdirSync(inside);
    await unpack(copy, inside);
    truncateSync(join(inside, CLUSTER_COPY), statSync(join(inside, CLUSTER_COPY)).size >> 1);
    rmSync(copy);
    await pack(copy, [{ folder: inside, paths: [MANIFEST, ENGINE_COPY, CLUSTER_COPY] }], never);
    rmSync(inside, { recursive: true });
  };

  const scenes: Record<string, Scene> = {
    'a backup': () => take().finally(() => rmSync(file, { force: true })),
    'a backup that is stopped half way': () => {
      const stop = new AbortController();
      return take({ signal: stop.signal, log: (line) => line === 'Packing' && stop.abort() });
    },
    'a backup that is stopped while it copies': () => {
      const stop = new AbortController();
      const heard = (line: string) => line === 'Copying the database' && setImmediate(() => stop.abort());
      return take({ signal: stop.signal, log: heard });
    },
    'a backup into a folder that is not there': () => take({ file: join(folder, 'nowhere', 'backup') }),
    'a backup over another file': () => take({ file: kept }),
    'a backup next to another': async () => {
      const both = await Promise.allSettled([take(), take({ file: `${file}-2` })]);
      for (const name of [file, `${file}-2`]) rmSync(name, { force: true });
      return both.map((it) => (it.status === 'fulfilled' ? it.value : it.reason.message)).join(', ');
    },
    'a backup of nothing': () => take({ home: join(folder, 'nothing') }),
    'a restore': () => bring(kept),
    'a restore of half a file': () => bringFrom((copy) => truncateSync(copy, statSync(copy).size >> 1)),
    'a restore that fails half way': () => bringFrom(breakCluster),
    'a restore of no backup': () => bringFrom((copy) => writeFileSync(copy, 'nothing of ours')),
  };
  return {
    scenes,
    async close() {
      engine.close();
      for (const path of [home, kept, fallback]) rmSync(path, { recursive: true, force: true });
    },
  };
}

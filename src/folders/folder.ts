import { type BigIntStats, constants } from 'node:fs';
import {
  chmod,
  type FileHandle,
  lchmod,
  lchown,
  lstat,
  lutimes,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  rmdir,
  symlink,
  unlink,
} from 'node:fs/promises';

/*
 * The only module that touches the contents of a folder while somebody else may be changing it. A path is unsafe: its
 * directories may have been replaced by links. Every name is therefore looked up in a directory that is already open, and no
 * link is followed.
 */

/** The name of a folder's entry, one character for each of its bytes: names need not be UTF-8. */
export type EntryName = string;

/** The status of an entry itself, not of what it points at. */
export type EntryStats = BigIntStats;

/** An open directory. Each operation acts on an entry directly in it and follows no link; it rejects with the system's `code`. */
export interface Folder {
  names(): Promise<EntryName[]>;
  stat(name: EntryName): Promise<EntryStats>;
  /** Returns the target of a symbolic link. */
  target(name: EntryName): Promise<string>;
  /** Opens a directory in this folder, by default with the same rights. The caller must close it. */
  enter(name: EntryName, rights?: number): Promise<Folder>;
  /** Opens a regular file for reading; never blocks on a pipe. The caller must close it. */
  read(name: EntryName): Promise<FileHandle>;
  /** Creates a file that only the owner may use. The caller must close it. */
  create(name: EntryName): Promise<FileHandle>;
  makeDirectory(name: EntryName): Promise<void>;
  makeLink(name: EntryName, target: string): Promise<void>;
  /** Changes the mode of a file or directory, whichever the name is when it is opened. Links have no mode. */
  changeMode(name: EntryName, change: (stats: EntryStats) => number): Promise<void>;
  setOwner(name: EntryName, uid: number, gid: number): Promise<void>;
  /** Sets the modification time, in seconds. */
  setTime(name: EntryName, mtime: number): Promise<void>;
  move(name: EntryName, into: Folder, as: EntryName): Promise<void>;
  /** Removes an entry that is not a directory. */
  unlink(name: EntryName): Promise<void>;
  removeDirectory(name: EntryName): Promise<void>;
  /** Runs an operation on a name in this folder; `move` needs it. */
  receive(name: EntryName, operation: (place: Buffer) => Promise<void>): Promise<void>;
  /**
   * Waits for operations in progress and refuses further ones: the descriptor's number may be reused for another file
   * afterwards.
   */
  close(): Promise<void>;
}

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const IS_LINUX = process.platform === 'linux';
/**
 * Opens a descriptor that only identifies an entry, which needs no permission and has no effect. Other systems than Linux have
 * none.
 */
const O_PATH = IS_LINUX ? 0o10_000_000 : 0;
const PERMISSIONS = 0o7777n;

/**
 * Opens a folder whose own path no tool can change. `rights` are the owner's rights that each directory needs; if a tool has
 * removed them, they are restored.
 */
export async function openFolder(path: string, { rights = 0 }: { rights?: number } = {}): Promise<Folder> {
  await descriptorsHavePlaces();
  return openWithRights(await open(path, O_RDONLY | O_PATH | O_DIRECTORY), Buffer.from(path), rights);
}

let found_places = false;

/** Throws if /proc is not mounted: every folder would look empty. */
async function descriptorsHavePlaces(): Promise<void> {
  if (found_places || !IS_LINUX) return;
  await lstat('/proc/self/fd').catch(({ code }) => {
    if (code === 'ENOENT') throw new Error('Workspaces cannot be used: /proc is not mounted on this machine');
  });
  found_places = true;
}

/**
 * Returns the path of an open descriptor. Systems other than Linux do not confine tools, so a tool can do whatever the service
 * can; there, operations use the plain path.
 */
const toDescriptorPath = ({ fd }: FileHandle, path: Buffer): Buffer => (IS_LINUX ? Buffer.from(`/proc/self/fd/${fd}`) : path);

async function openWithRights(handle: FileHandle, path: Buffer, rights: number): Promise<Folder> {
  try {
    if (rights !== 0) await giveRights(handle, path, BigInt(rights));
    return toFolder(handle, path, rights);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Restores rights, but only on directories that the service owns. Root needs no rights. */
async function giveRights(handle: FileHandle, path: Buffer, rights: bigint): Promise<void> {
  const user = process.geteuid!();
  if (user === 0) return;
  const { mode, uid } = await handle.stat({ bigint: true });
  if (uid === BigInt(user) && (mode & rights) !== rights) await setOpenedMode(handle, path, (mode & PERMISSIONS) | rights);
}

/** Sets the mode of what is open. The kernel resolves `/proc/self/fd/N` to it without looking up a name. */
const setOpenedMode = (handle: FileHandle, path: Buffer, mode: bigint): Promise<void> =>
  IS_LINUX ? chmod(toDescriptorPath(handle, path), Number(mode)) : lchmod(path, Number(mode));

function toFolder(handle: FileHandle, path: Buffer, own_rights: number): Folder {
  const pending = new Set<Promise<unknown>>();
  let closed = false;
  const self = toDescriptorPath(handle, path);

  /** Starts an operation that `close` waits for. */
  async function begin<T>(operation: () => Promise<T>): Promise<T> {
    if (closed) throw new Error('The folder is closed');
    const work = operation();
    const settlement = work.then(noop, noop).finally(() => pending.delete(settlement));
    pending.add(settlement);
    return work;
  }

  const on = <T>(name: EntryName, operation: (place: Buffer) => Promise<T>) => begin(async () => operation(joinName(self, name)));

  const changeMode: Folder['changeMode'] = (name, change) =>
    on(name, (place) =>
      withOpened(place, async (file, stats) => {
        if (stats.isFile() || stats.isDirectory()) await setOpenedMode(file, place, BigInt(change(stats)));
      }),
    );

  async function enter(name: EntryName, rights = own_rights): Promise<Folder> {
    const inner = await on(name, (place) => open(place, O_RDONLY | O_PATH | O_DIRECTORY | O_NOFOLLOW));
    return openWithRights(inner, joinName(path, name), rights);
  }

  return {
    names: () => begin(() => readdir(self, { encoding: 'latin1' })),
    stat: (name) => on(name, (place) => lstat(place, { bigint: true })),
    target: (name) => on(name, (place) => readlink(place, { encoding: 'latin1' })),
    enter,
    read: (name) => on(name, (place) => withOpened(place, (file, stats) => reopen(file, stats, place))),
    create: (name) => on(name, (place) => open(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)),
    makeDirectory: (name) => on(name, (place) => mkdir(place, { mode: 0o700 }).then(noop)),
    makeLink: (name, target) => on(name, (place) => symlink(Buffer.from(target, 'latin1'), place)),
    changeMode,
    setOwner: (name, uid, gid) => on(name, (place) => lchown(place, uid, gid)),
    setTime: (name, mtime) => on(name, (place) => lutimes(place, mtime, mtime)),
    move: (name, into, as) => on(name, (place) => into.receive(as, (target) => rename(place, target))),
    receive: on,
    unlink: (name) => on(name, unlink),
    removeDirectory: (name) => on(name, rmdir),
    async close() {
      closed = true;
      while (pending.size > 0) await Promise.all(pending);
      await handle.close();
    },
  };
}

const noop = () => {};

function joinName(folder: Buffer, name: EntryName): Buffer {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) throw new Error(`"${name}" is not a name in a folder`);
  return Buffer.concat([folder, Buffer.from('/'), Buffer.from(name, 'latin1')]);
}

/** Opens an entry without any effect on it, and passes it on with its status. */
async function withOpened<T>(place: Buffer, use: (file: FileHandle, stats: EntryStats) => Promise<T>): Promise<T> {
  const file = await open(place, O_RDONLY | O_PATH | O_NOFOLLOW | O_NONBLOCK);
  try {
    return await use(file, await file.stat({ bigint: true }));
  } finally {
    await file.close();
  }
}

/**
 * Opens a file for reading that is open without rights. If the service owns it but may not read it, that right is added first.
 */
async function reopen(file: FileHandle, stats: EntryStats, place: Buffer): Promise<FileHandle> {
  if (!stats.isFile()) throw Object.assign(new Error('Only files can be read'), { code: 'EINVAL' });
  const openAgain = () => open(toDescriptorPath(file, place), O_RDONLY | O_NONBLOCK | (IS_LINUX ? 0 : O_NOFOLLOW));
  return openAgain().catch(async (error) => {
    if (error.code !== 'EACCES' || stats.uid !== BigInt(process.geteuid!())) throw error;
    await setOpenedMode(file, place, (stats.mode & PERMISSIONS) | 0o400n);
    return openAgain();
  });
}

/** True if an error means that the entry was replaced since it was last looked at. */
export const isExchanged = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL'].includes((error as NodeJS.ErrnoException).code!);

/** Returns null if the entry has been removed or replaced meanwhile; throws every other error. */
export const unlessExchanged = (error: unknown): null => {
  if (isExchanged(error)) return null;
  throw error;
};

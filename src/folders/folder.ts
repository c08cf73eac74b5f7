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
 * The one module that touches what is in a folder while somebody else may be changing it. A path would lead wherever its directories have
 * been exchanged for links to; here every name is looked up in a directory that is already open, and no link is followed.
 */

/** A name in a folder, one character for each of its bytes: names need not be UTF-8. */
export type EntryName = string;

/** What the system knows of an entry, itself and not what it points at. */
export type EntryStats = BigIntStats;

/** An open directory. Each operation is on what is directly in it, and follows no link; it rejects with the `code` of the system. */
export interface Folder {
  names(): Promise<EntryName[]>;
  stat(name: EntryName): Promise<EntryStats>;
  /** Where a symbolic link points. */
  target(name: EntryName): Promise<string>;
  /** A directory in it, by default with the same rights. Close it. */
  enter(name: EntryName, rights?: number): Promise<Folder>;
  /** Opens a regular file for reading; never waits for the other end of a pipe. Close it. */
  read(name: EntryName): Promise<FileHandle>;
  /** Makes a file that only the owner may use. Close it. */
  create(name: EntryName): Promise<FileHandle>;
  makeDirectory(name: EntryName): Promise<void>;
  makeLink(name: EntryName, target: string): Promise<void>;
  /** Of a file or directory, whichever it is when it is opened. Links have no mode. */
  changeMode(name: EntryName, change: (found: EntryStats) => number): Promise<void>;
  setOwner(name: EntryName, uid: number, gid: number): Promise<void>;
  /** In seconds. */
  setTime(name: EntryName, mtime: number): Promise<void>;
  move(name: EntryName, into: Folder, as: EntryName): Promise<void>;
  /** Removes anything but a directory. */
  unlink(name: EntryName): Promise<void>;
  removeDirectory(name: EntryName): Promise<void>;
  /** For `move`: runs an operation on a name in this folder. */
  receive(name: EntryName, operation: (place: Buffer) => Promise<void>): Promise<void>;
  /** Waits for the operations that have begun, and refuses others: the number of the descriptor may be given to another file then. */
  close(): Promise<void>;
}

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const IS_LINUX = process.platform === 'linux';
/** A descriptor that stands for the thing itself; opening it needs no permission and has no effect. Other systems have none. */
const O_PATH = IS_LINUX ? 0o10_000_000 : 0;
const PERMISSIONS = 0o7777n;

/**
 * Opens a folder whose own path no tool can change. `rights`: what its owner must be allowed in each directory; if a tool has removed
 * that, it is given again.
 */
export async function openFolder(path: string, { rights = 0 }: { rights?: number } = {}): Promise<Folder> {
  await descriptorsHavePlaces();
  return openWithRights(await open(path, O_RDONLY | O_PATH | O_DIRECTORY), Buffer.from(path), rights);
}

let found_places = false;

/** Without /proc every folder would look empty. */
async function descriptorsHavePlaces(): Promise<void> {
  if (found_places || !IS_LINUX) return;
  await lstat('/proc/self/fd').catch(({ code }) => {
    if (code === 'ENOENT') throw new Error('Workspaces cannot be used: /proc is not mounted on this machine');
  });
  found_places = true;
}

/** Other systems than Linux do not confine tools, so a tool can do there what the service can; they go by path. */
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

/** Only to what is the service's own. Root needs no rights. */
async function giveRights(handle: FileHandle, path: Buffer, rights: bigint): Promise<void> {
  const user = process.geteuid?.();
  if (user === 0) return;
  const { mode, uid } = await handle.stat({ bigint: true });
  if (uid === BigInt(user ?? -1) && (mode & rights) !== rights) await setOpenedMode(handle, path, (mode & PERMISSIONS) | rights);
}

/** By the descriptor: the kernel takes `/proc/self/fd/N` for what is open there, and looks up no name. */
const setOpenedMode = (handle: FileHandle, path: Buffer, mode: bigint): Promise<void> =>
  IS_LINUX ? chmod(toDescriptorPath(handle, path), Number(mode)) : lchmod(path, Number(mode));

function toFolder(handle: FileHandle, path: Buffer, own_rights: number): Folder {
  const pending = new Set<Promise<unknown>>();
  let closed = false;
  const self = toDescriptorPath(handle, path);

  /** Begins an operation that `close` waits for. */
  async function begin<T>(operation: () => Promise<T>): Promise<T> {
    if (closed) throw new Error('The folder is closed');
    const work = operation();
    const settled = work.then(noop, noop).finally(() => pending.delete(settled));
    pending.add(settled);
    return work;
  }

  const on = <T>(name: EntryName, operation: (place: Buffer) => Promise<T>) => begin(async () => operation(joinName(self, name)));

  const changeMode: Folder['changeMode'] = (name, change) =>
    on(name, (place) =>
      withOpened(place, async (opened, found) => {
        if (found.isFile() || found.isDirectory()) await setOpenedMode(opened, place, BigInt(change(found)));
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
    read: (name) => on(name, (place) => withOpened(place, (opened, found) => reopen(opened, found, place))),
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

/** Opens what stands there without any effect on it, and looks what it is. */
async function withOpened<T>(place: Buffer, use: (opened: FileHandle, found: EntryStats) => Promise<T>): Promise<T> {
  const opened = await open(place, O_RDONLY | O_PATH | O_NOFOLLOW | O_NONBLOCK);
  try {
    return await use(opened, await opened.stat({ bigint: true }));
  } finally {
    await opened.close();
  }
}

/** Opens a file for reading that is open without any right; if its owner, the service, lacks the right to, it is given. */
async function reopen(opened: FileHandle, found: EntryStats, place: Buffer): Promise<FileHandle> {
  if (!found.isFile()) throw Object.assign(new Error('Only files can be read'), { code: 'EINVAL' });
  const again = () => open(toDescriptorPath(opened, place), O_RDONLY | O_NONBLOCK | (IS_LINUX ? 0 : O_NOFOLLOW));
  return again().catch(async (error) => {
    if (error.code !== 'EACCES' || found.uid !== BigInt(process.geteuid?.() ?? -1)) throw error;
    await setOpenedMode(opened, place, (found.mode & PERMISSIONS) | 0o400n);
    return again();
  });
}

/** Whether something else stands there now than what was found a moment ago. */
export const isExchanged = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Null for what has gone or been exchanged meanwhile; whatever else failed is thrown. */
export const unlessExchanged = (error: unknown): null => {
  if (isExchanged(error)) return null;
  throw error;
};

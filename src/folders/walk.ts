import { type EntryName, type EntryStats, type Folder, isExchanged, openFolder, unlessExchanged } from './folder.ts';

/** Deeper directories are not entered: each level keeps a descriptor open. */
const MOST_LEVELS = 128;
const AT_ONCE = 8;
/** So often an entry is looked at that becomes something else between two looks. */
const LOOKS = 5;

interface WalkEntry {
  /** Below the folder where the walk began, one character for each byte. */
  path: EntryName;
  found: EntryStats;
  /** Of a symbolic link. */
  target: string;
}

interface Walk {
  /** Parents come before what is in them. False ends the walk. */
  see(entry: WalkEntry): boolean;
  /** What could not be looked at, and why, as the end of a sentence. False ends the walk. */
  miss(path: EntryName, reason: string): boolean;
  /** What the owner must be allowed in each directory; given again if a tool has removed it. */
  rights?: number;
}

/**
 * Visits everything below a folder without following links, also while it is being changed. What vanishes meanwhile is left out. Rejects
 * if the service itself cannot look, for instance because it has no descriptors left.
 */
export async function walkFolder(path: string, { rights = 0, ...walk }: Walk): Promise<void> {
  const folder = await openFolder(path, { rights });
  try {
    await walkDirectory(folder, '', 1, walk);
  } finally {
    await folder.close();
  }
}

/** False: the walk has ended early. */
async function walkDirectory(folder: Folder, path: EntryName, level: number, walk: Walk): Promise<boolean> {
  const names = await unlessClosed(folder.names().catch(unlessExchanged));
  if (names === CLOSED) return walk.miss(path, 'cannot be read');
  for (let next = 0; names && next < names.length; next += AT_ONCE) {
    const some = names.slice(next, next + AT_ONCE);
    const looks = await Promise.all(some.map((name) => unlessClosed(folder.stat(name).catch(unlessExchanged))));
    for (const [index, name] of some.entries()) {
      const at = path === '' ? name : `${path}/${name}`;
      const found = looks[index];
      const goes_on =
        found === CLOSED
          ? walk.miss(at, 'cannot be looked at')
          : !found || (await visit({ folder, name, found }, at, level, walk));
      if (!goes_on) return false;
    }
  }
  return true;
}

interface Looked {
  folder: Folder;
  name: EntryName;
  found: EntryStats;
}

async function visit(looked: Looked, path: EntryName, level: number, walk: Walk): Promise<boolean> {
  const settled = await unlessClosed(openEntry(looked, level < MOST_LEVELS));
  if (settled === null) return true;
  if (settled === CLOSED) return walk.miss(path, 'cannot be read');
  if (settled === CHANGING) return walk.miss(path, 'is exchanged again and again');
  const { found, target, inner } = settled;
  try {
    if (!walk.see({ path, found, target })) return false;
    if (found.isDirectory() && !inner) return walk.miss(path, `lies more than ${MOST_LEVELS} levels deep`);
    return inner ? await walkDirectory(inner, path, level + 1, walk) : true;
  } finally {
    await inner?.close();
  }
}

const CHANGING = Symbol('it changes');

/** An entry with what belongs to its kind. */
async function openEntry({ folder, name, found: first }: Looked, may_enter: boolean) {
  let found: EntryStats | null = first;
  for (let looks = 1; found; looks += 1) {
    try {
      const inner: Folder | null = found.isDirectory() && may_enter ? await folder.enter(name) : null;
      const target: string = found.isSymbolicLink() ? await folder.target(name) : '';
      return { found, inner, target };
    } catch (error) {
      if (!isExchanged(error)) throw error;
      if (looks === LOOKS) return CHANGING;
      found = await folder.stat(name).catch(unlessExchanged);
    }
  }
  return null;
}

const CLOSED = Symbol('it is closed');

const unlessClosed = <T>(work: Promise<T>): Promise<T | typeof CLOSED> =>
  work.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EACCES' || error.code === 'EPERM') return CLOSED;
    throw error;
  });

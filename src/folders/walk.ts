import { type EntryName, type EntryStats, type Folder, isExchanged, openFolder, unlessExchanged } from './folder.ts';

/** The most levels of directories. Each level keeps a descriptor open, so deeper directories are not entered. */
const MOST_LEVELS = 128;
const AT_ONCE = 8;
/** How often the walk retries an entry whose kind changes between two looks. */
const LOOKS = 5;

interface WalkEntry {
  /** The path below the folder where the walk began, one character for each byte. */
  path: EntryName;
  stats: EntryStats;
  /** The target of a symbolic link; empty for other entries. */
  target: string;
}

interface Walk {
  /** Called for each entry, parents before their contents. False ends the walk. */
  see(entry: WalkEntry): boolean;
  /** Called for an entry that could not be visited. `reason` ends a sentence about its path. False ends the walk. */
  miss(path: EntryName, reason: string): boolean;
  /** The owner's rights that each directory needs; restored if a tool has removed them. */
  rights?: number;
}

/**
 * Visits everything below a folder without following links, even while it is being changed. Entries that vanish meanwhile are
 * left out. Rejects if the service itself cannot continue, for instance because it has no descriptors left.
 */
export async function walkFolder(path: string, { rights = 0, ...walk }: Walk): Promise<void> {
  const folder = await openFolder(path, { rights });
  try {
    await walkDirectory(folder, '', 1, walk);
  } finally {
    await folder.close();
  }
}

/** Returns false if the walk has ended early. */
async function walkDirectory(folder: Folder, path: EntryName, level: number, walk: Walk): Promise<boolean> {
  const names = await unlessClosed(folder.names().catch(unlessExchanged));
  if (names === CLOSED) return walk.miss(path, 'cannot be read');
  for (let next = 0; names && next < names.length; next += AT_ONCE) {
    const some = names.slice(next, next + AT_ONCE);
    const looks = await Promise.all(some.map((name) => unlessClosed(folder.stat(name).catch(unlessExchanged))));
    for (const [index, name] of some.entries()) {
      const at = path === '' ? name : `${path}/${name}`;
      const stats = looks[index];
      const goes_on =
        stats === CLOSED
          ? walk.miss(at, 'cannot be looked at')
          : !stats || (await visit({ folder, name, stats }, at, level, walk));
      if (!goes_on) return false;
    }
  }
  return true;
}

interface Looked {
  folder: Folder;
  name: EntryName;
  stats: EntryStats;
}

async function visit(entry: Looked, path: EntryName, level: number, walk: Walk): Promise<boolean> {
  const opened_entry = await unlessClosed(openEntry(entry, level < MOST_LEVELS));
  if (opened_entry === null) return true;
  if (opened_entry === CLOSED) return walk.miss(path, 'cannot be read');
  if (opened_entry === CHANGING) return walk.miss(path, 'is exchanged again and again');
  const { found: stats, target, inner } = opened_entry;
  try {
    if (!walk.see({ path, stats, target })) return false;
    if (stats.isDirectory() && !inner) return walk.miss(path, `lies more than ${MOST_LEVELS} levels deep`);
    return inner ? await walkDirectory(inner, path, level + 1, walk) : true;
  } finally {
    await inner?.close();
  }
}

const CHANGING = Symbol('it changes');

/** Returns an entry with its open directory or its link target. Null: it has vanished. */
async function openEntry({ folder, name, stats: first }: Looked, may_enter: boolean) {
  let stats: EntryStats | null = first;
  for (let looks = 1; stats; looks += 1) {
    try {
      const inner: Folder | null = stats.isDirectory() && may_enter ? await folder.enter(name) : null;
      const target: string = stats.isSymbolicLink() ? await folder.target(name) : '';
      return { found: stats, inner, target };
    } catch (error) {
      if (!isExchanged(error)) throw error;
      if (looks === LOOKS) return CHANGING;
      stats = await folder.stat(name).catch(unlessExchanged);
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

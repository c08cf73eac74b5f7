import type { EntryName, EntryStats } from '../../folders/folder.ts';
import { walkFolder } from '../../folders/walk.ts';

/** A path below a directory, one character for each of its bytes. */
export type Path = EntryName;

/** The stored properties of a file, directory or symbolic link. */
export interface Node {
  path: Path;
  kind: 'file' | 'directory' | 'link';
  mode: number;
  /** The modification time in seconds. */
  mtime: number;
  uid: number;
  size: number;
  /** The target of a link. */
  target?: string;
}

interface TreeEntry {
  node: Node;
  /** A value that changes whenever the file does. */
  mark: string;
  /** The time of the file's last change, in milliseconds. */
  changed_at: number;
}

/** The entries of a directory and of everything below it, by path. */
export type Tree = Map<Path, TreeEntry>;

/** The owner's permissions that reading requires. */
const TO_READ = 0o500;

/**
 * Reads a directory without following links. Leaves out sockets, pipes, devices, and files that vanish meanwhile. Entries that
 * cannot be read are left out too, and make the workspace count as full.
 */
export async function readTree(directory: string): Promise<Tree> {
  const tree: Tree = new Map();
  await walkFolder(directory, {
    rights: TO_READ,
    see({ path, stats, target }) {
      const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : stats.isSymbolicLink() ? 'link' : null;
      if (kind) tree.set(path, toTreeEntry(toNode(path, kind, stats), stats, target));
      return true;
    },
    miss: () => true,
  });
  return tree;
}

const PERMISSIONS = 0o777n;
/** New files in such a directory get its group. */
const WITH_GROUP = 0o2777n;

const toNode = (path: Path, kind: Node['kind'], stats: EntryStats): Node => ({
  path,
  kind,
  mode: Number(stats.mode & (kind === 'directory' ? WITH_GROUP : PERMISSIONS)),
  mtime: Number(stats.mtimeMs) / 1_000,
  uid: Number(stats.uid),
  size: kind === 'file' ? Number(stats.size) : 0,
});

function toTreeEntry(bare: Node, stats: EntryStats, target: string): TreeEntry {
  const node = bare.kind === 'link' ? { ...bare, target } : bare;
  return { node, mark: toMark(node, stats), changed_at: Number(stats.ctimeMs) };
}

/** Returns an entry's mark. A directory's entries have separate marks. */
function toMark({ kind, mode, size, target }: Node, { ino, mtimeNs, ctimeNs }: EntryStats): string {
  return kind === 'directory' ? `${kind} ${mode}` : [kind, mode, size, target, ino, mtimeNs, ctimeNs].join(' ');
}

/** The difference that turns the earlier tree into the later one. */
export interface Change {
  /** The new or changed nodes; parents come before their entries. */
  nodes: Node[];
  removed: Path[];
}

export function findTreeChange(earlier: Tree, later: Tree): Change {
  const nodes = [...later].filter(([path, { mark }]) => earlier.get(path)?.mark !== mark).map(([, { node }]) => node);
  return { nodes, removed: [...earlier.keys()].filter((path) => !later.has(path)) };
}

export const isEmpty = ({ nodes, removed }: Change): boolean => nodes.length === 0 && removed.length === 0;

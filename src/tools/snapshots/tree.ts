import type { EntryName, EntryStats } from '../../folders/folder.ts';
import { walkFolder } from '../../folders/walk.ts';

/** A path below a directory, one character for each of its bytes. */
export type Path = EntryName;

/** What a snapshot keeps of a file, directory or symbolic link. */
export interface Node {
  path: Path;
  kind: 'file' | 'directory' | 'link';
  mode: number;
  /** In seconds. */
  mtime: number;
  uid: number;
  size: number;
  /** Of a link. */
  target?: string;
}

interface TreeEntry {
  node: Node;
  /** Changes whenever the file does. */
  mark: string;
  /** When the file changed last, in milliseconds. */
  changed_at: number;
}

/** By its path, everything that is in a directory. */
export type Tree = Map<Path, TreeEntry>;

/** The owner's rights that reading takes. */
const TO_READ = 0o500;

/**
 * Reads a directory without following links. Sockets, pipes and devices are left out, and what vanishes meanwhile. So is what cannot be
 * looked at; it makes the workspace count as full.
 */
export async function readTree(directory: string): Promise<Tree> {
  const tree: Tree = new Map();
  await walkFolder(directory, {
    rights: TO_READ,
    see({ path, found, target }) {
      const kind = found.isFile() ? 'file' : found.isDirectory() ? 'directory' : found.isSymbolicLink() ? 'link' : null;
      if (kind) tree.set(path, toTreeEntry(toNode(path, kind, found), found, target));
      return true;
    },
    miss: () => true,
  });
  return tree;
}

const PERMISSIONS = 0o777n;
/** New files in such a directory get its group. */
const WITH_GROUP = 0o2777n;

const toNode = (path: Path, kind: Node['kind'], found: EntryStats): Node => ({
  path,
  kind,
  mode: Number(found.mode & (kind === 'directory' ? WITH_GROUP : PERMISSIONS)),
  mtime: Number(found.mtimeMs) / 1_000,
  uid: Number(found.uid),
  size: kind === 'file' ? Number(found.size) : 0,
});

function toTreeEntry(bare: Node, found: EntryStats, target: string): TreeEntry {
  const node = bare.kind === 'link' ? { ...bare, target } : bare;
  return { node, mark: toMark(node, found), changed_at: Number(found.ctimeMs) };
}

/** What is in a directory has separate marks. */
function toMark({ kind, mode, size, target }: Node, { ino, mtimeNs, ctimeNs }: EntryStats): string {
  return kind === 'directory' ? `${kind} ${mode}` : [kind, mode, size, target, ino, mtimeNs, ctimeNs].join(' ');
}

/** What makes the later tree out of the earlier one. */
export interface Change {
  /** Parents come before what is in them. */
  nodes: Node[];
  removed: Path[];
}

export function findTreeChange(earlier: Tree, later: Tree): Change {
  const nodes = [...later].filter(([path, { mark }]) => earlier.get(path)?.mark !== mark).map(([, { node }]) => node);
  return { nodes, removed: [...earlier.keys()].filter((path) => !later.has(path)) };
}

export const isEmpty = ({ nodes, removed }: Change): boolean => nodes.length === 0 && removed.length === 0;

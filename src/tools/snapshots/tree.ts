import type { BigIntStats } from 'node:fs';
import { chmod, lstat, readdir, readlink } from 'node:fs/promises';

/** A path below a directory, one character for each of its bytes: names need not be UTF-8. */
export type Path = string;

export const at = (directory: string, path: Path): Buffer =>
  path === '' ? Buffer.from(directory) : Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(path, 'latin1')]);

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

interface Found {
  node: Node;
  /** Changes whenever the file does. */
  mark: string;
  /** When the file changed last, in milliseconds. */
  changed_at: number;
}

/** By its path, everything that is in a directory. */
export type Tree = Map<Path, Found>;

/** Reads a directory without following links. Sockets, pipes and devices are left out, and what vanishes meanwhile. */
export async function treeOf(directory: string): Promise<Tree> {
  const tree: Tree = new Map();
  const open: Path[] = [''];
  for (let parent = open.pop(); parent !== undefined; parent = open.pop()) {
    for (const name of await namesIn(at(directory, parent))) {
      const path = parent === '' ? name : `${parent}/${name}`;
      const found = await nodeAt(directory, path).catch(unlessGone);
      if (!found) continue;
      tree.set(path, found);
      if (found.node.kind === 'directory') open.push(path);
    }
  }
  return tree;
}

/** Makes a directory readable again if a tool removed the permission. */
async function namesIn(directory: Buffer): Promise<string[]> {
  const read = () => readdir(directory, { encoding: 'latin1' });
  return read().catch(async () => {
    await chmod(directory, 0o700).catch(() => {});
    return read().catch(() => []);
  });
}

const PERMISSIONS = 0o777n;
/** New files in such a directory get its group. */
const WITH_GROUP = 0o2777n;

async function nodeAt(directory: string, path: Path): Promise<Found | null> {
  const place = at(directory, path);
  const found = await lstat(place, { bigint: true });
  const kind = found.isFile() ? 'file' : found.isDirectory() ? 'directory' : found.isSymbolicLink() ? 'link' : null;
  if (kind === null) return null;
  const node: Node = {
    path,
    kind,
    mode: Number(found.mode & (kind === 'directory' ? WITH_GROUP : PERMISSIONS)),
    mtime: Number(found.mtimeMs) / 1_000,
    uid: Number(found.uid),
    size: kind === 'file' ? Number(found.size) : 0,
    ...(kind === 'link' ? { target: await readlink(place, { encoding: 'latin1' }) } : {}),
  };
  return { node, mark: markOf(node, found), changed_at: Number(found.ctimeMs) };
}

/** What is in a directory has separate marks. */
function markOf({ kind, mode, size, target }: Node, { ino, mtimeNs, ctimeNs }: BigIntStats): string {
  return kind === 'directory' ? `${kind} ${mode}` : [kind, mode, size, target, ino, mtimeNs, ctimeNs].join(' ');
}

const unlessGone = (error: NodeJS.ErrnoException): null => {
  if (error.code === 'ENOENT') return null;
  throw error;
};

/** What makes the later tree out of the earlier one. */
export interface Change {
  /** Parents come before what is in them. */
  nodes: Node[];
  removed: Path[];
}

export function treeChange(earlier: Tree, later: Tree): Change {
  const nodes = [...later].filter(([path, { mark }]) => earlier.get(path)?.mark !== mark).map(([, { node }]) => node);
  return { nodes, removed: [...earlier.keys()].filter((path) => !later.has(path)) };
}

export const isEmpty = ({ nodes, removed }: Change): boolean => nodes.length === 0 && removed.length === 0;

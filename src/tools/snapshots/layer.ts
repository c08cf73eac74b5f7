import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import { type Cursor, createCursor } from '../../folders/cursor.ts';
import { type EntryName, type Folder, openFolder, unlessExchanged } from '../../folders/folder.ts';
import { TOOL_GID } from '../../toolrunner/settings.ts';
import type { ObjectStore } from './object-store.ts';
import type { Change, Node, Path } from './tree.ts';

/*
 * A layer holds the changes of one call: a line of JSON (the change), then the contents of its files in that order, all
 * compressed and cut into chunks. A chunk is named by its content.
 */

const CHUNK = 4 * 1024 * 1024;
const READ = 256 * 1024;
/** The longest line of a change, in bytes: 100,000 paths of some hundred bytes. */
const MOST_LINE = 256 * 1024 * 1024;

export interface Layer {
  chunks: string[];
  bytes: number;
}

interface Place {
  objects: ObjectStore;
  /** The prefix of the chunks' keys. */
  prefix: string;
  signal: AbortSignal;
}

/**
 * Stores a change with the files of the directory. A file that changes meanwhile is stored as it is found; the next layer has
 * it again.
 */
export async function storeLayer(directory: string, change: Change, { objects, prefix, signal }: Place): Promise<Layer> {
  const chunks: string[] = [];
  let bytes = 0;
  async function storeChunk(content: Buffer): Promise<void> {
    const name = createHash('sha256').update(content).digest('hex');
    await objects.put(prefix + name, content, signal);
    chunks.push(name);
    bytes += content.length;
  }
  let buffers: Buffer[] = [];
  let size = 0;
  const packed = pipeline(Readable.from(serializeLayer(directory, change)), createGzip({ level: 1 }), () => {});
  for await (const part of packed as AsyncIterable<Buffer>) {
    buffers.push(part);
    size += part.length;
    if (size < CHUNK) continue;
    await storeChunk(Buffer.concat(buffers));
    [buffers, size] = [[], 0];
  }
  if (size > 0) await storeChunk(Buffer.concat(buffers));
  return { chunks, bytes };
}

async function* serializeLayer(directory: string, change: Change): AsyncGenerator<Buffer> {
  yield Buffer.from(`${JSON.stringify(change)}\n`);
  const root = await openFolder(directory, { rights: TO_READ });
  const cursor = createCursor(root);
  try {
    for (const node of change.nodes) if (node.kind === 'file') yield* readFileContent(cursor, node);
  } finally {
    await cursor.close();
    await root.close();
  }
}

/** The owner's permissions that reading requires. */
const TO_READ = 0o500;

/**
 * Yields exactly as many bytes as the node has. If the file has shrunk, vanished or become something else since, the rest is
 * zeros.
 */
async function* readFileContent(cursor: Cursor, { path, size }: Node): AsyncGenerator<Buffer> {
  const [parent, name] = split(path);
  const file = await cursor
    .to(parent)
    .then((folder) => folder.read(name))
    .catch(unlessExchanged);
  try {
    for (let remaining = size; remaining > 0; ) {
      const part = Buffer.alloc(Math.min(READ, remaining));
      const read = file ? (await file.read(part, 0, part.length)).bytesRead : 0;
      const chunk = read > 0 ? part.subarray(0, read) : part;
      yield chunk;
      remaining -= chunk.length;
    }
  } finally {
    await file?.close();
  }
}

/**
 * Restores the tree of the layers in an empty directory, from the latest layer back, so that each path is written once. Links
 * come last: nothing is written through one.
 */
export async function restoreLayers(directory: string, layers: readonly Pick<Layer, 'chunks'>[], place: Place): Promise<void> {
  const decisions = createDecisions();
  const root = await openFolder(directory);
  const cursor = createCursor(root, enterMade);
  try {
    for (const { chunks } of layers.toReversed()) {
      const source = createReader(pipeline(Readable.from(loadChunks(chunks, place)), createGunzip(), () => {}));
      const { nodes, removed } = JSON.parse(await source.line()) as Change;
      for (const node of nodes) {
        const is_wanted = decisions.take(node);
        if (node.kind === 'file') await copy(source, node, is_wanted ? cursor : null);
      }
      decisions.remove(removed);
    }
    await finish(cursor, decisions.nodes());
  } finally {
    await cursor.close();
    await root.close();
  }
}

/**
 * Records the decision of the layers about each path, from the latest layer back: the first one that mentions the path decides.
 */
function createDecisions() {
  const nodes_by_path = new Map<Path, Node | null>();
  /** Paths that have entries. */
  const parents = new Set<Path>();
  const isFree = ({ path, kind }: Node) =>
    !nodes_by_path.has(path) &&
    (kind === 'directory' || !parents.has(path)) &&
    listParents(path).every((parent) => !nodes_by_path.has(parent) || nodes_by_path.get(parent)?.kind === 'directory');
  return {
    /** Returns false if a later layer has decided about the path, or about one of its parents. */
    take(node: Node): boolean {
      if (!isFree(node)) return false;
      nodes_by_path.set(node.path, node);
      for (const parent of listParents(node.path)) parents.add(parent);
      return true;
    },
    remove(paths: readonly Path[]): void {
      for (const path of paths) if (!nodes_by_path.has(path) && !parents.has(path)) nodes_by_path.set(path, null);
    },
    nodes: () => [...nodes_by_path.values()].filter((node) => node !== null),
  };
}

function listParents(path: Path): Path[] {
  const parents: Path[] = [];
  for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1)) parents.push(path.slice(0, slash));
  return parents;
}

async function* loadChunks(names: readonly string[], { objects, prefix, signal }: Place): AsyncGenerator<Uint8Array> {
  for (const name of names) {
    const content = await objects.get(prefix + name, signal);
    if (!content) throw new Error(`The object store has lost ${prefix}${name}, a part of this run's workspace`);
    if (createHash('sha256').update(content).digest('hex') !== name)
      throw new Error(`The object store has changed ${prefix}${name}, a part of this run's workspace`);
    yield content;
  }
}

/** Reads a stream by lines and lengths. */
function createReader(stream: AsyncIterable<Buffer>) {
  const parts = stream[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const more = async () => {
    const { done, value } = await parts.next();
    if (done) throw new Error('A part of the workspace ends early');
    return value as Buffer;
  };
  return {
    async line(): Promise<string> {
      const buffers: Buffer[] = [];
      for (let bytes = 0; ; ) {
        const end = rest.indexOf(0x0a);
        if (end >= 0) {
          buffers.push(rest.subarray(0, end));
          rest = rest.subarray(end + 1);
          return Buffer.concat(buffers).toString();
        }
        buffers.push(rest);
        bytes += rest.length;
        if (bytes > MOST_LINE) throw new Error('A part of the workspace has no end of its list');
        rest = await more();
      }
    },
    async *take(size: number): AsyncGenerator<Buffer> {
      for (let remaining = size; remaining > 0; ) {
        if (rest.length === 0) rest = await more();
        const chunk = rest.subarray(0, remaining);
        rest = rest.subarray(chunk.length);
        remaining -= chunk.length;
        yield chunk;
      }
    },
  };
}

/** Reads a file's content, and writes it if there is a cursor. */
async function copy({ take }: ReturnType<typeof createReader>, { path, size }: Node, cursor: Cursor | null): Promise<void> {
  const [parent, name] = split(path);
  const file = cursor && (await (await cursor.to(parent)).create(name));
  try {
    for await (const part of take(size)) await file?.writeFile(part);
  } finally {
    await file?.close();
  }
}

const enterMade = async (folder: Folder, name: EntryName): Promise<Folder> => {
  await folder.makeDirectory(name).catch(unlessThere);
  return folder.enter(name);
};

const unlessThere = (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EEXIST') throw error;
};

function split(path: Path): [parent: Path, name: EntryName] {
  const slash = path.lastIndexOf('/');
  return [path.slice(0, Math.max(0, slash)), path.slice(slash + 1)];
}

/** Sets owners, modes and times. Those of a directory are set after those of its entries. */
async function finish(cursor: Cursor, nodes: Node[]): Promise<void> {
  const byDepth = nodes.sort((one, other) => (one.path < other.path ? 1 : -1));
  for (const { kind, path } of byDepth) if (kind === 'directory') await cursor.to(path);
  for (const node of byDepth) {
    const [parent, name] = split(node.path);
    const folder = await cursor.to(parent);
    if (node.kind === 'link') await folder.makeLink(name, node.target as string);
    // A tool's files keep their owner; the service's files are shared with the tool.
    if (process.getuid?.() === 0) await folder.setOwner(name, node.uid, TOOL_GID);
    if (node.kind !== 'link') await folder.changeMode(name, () => node.mode);
    await folder.setTime(name, node.mtime);
  }
}

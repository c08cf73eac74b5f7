import { mkdir, mkdtemp, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { asLack, findOutage } from '../../domain/outages.ts';
import { removeFolder } from '../../folders/remove.ts';
import { shareTop, shareWorkspace } from '../../toolrunner/workspaces.ts';
import { type Layer, restoreLayers, storeLayer } from './layer.ts';
import type { ObjectStore } from './object-store.ts';
import { findTreeChange, isEmpty, readTree, type Tree } from './tree.ts';

/** A recorded layer, with its place in the order. */
interface StoredLayer extends Layer {
  number: string;
}

/** The record of the layers that make up a run's workspace. */
interface LayerRecord {
  /** Returns the layers of a run in order. */
  find(task_id: string): Promise<StoredLayer[]>;
  /** Records the first layer, which was not made by a call. Returns null if there is one. */
  first(task_id: string, layer: Layer): Promise<string | null>;
  forget(task_id: string): Promise<void>;
}

/** Records the changes of a call. Returns null if another attempt has taken the call over, or its task has ended. */
type RecordLayer = (layer: Layer) => Promise<string | null>;

/** A copy of a run's workspace on this worker's disk. */
interface Copy {
  directory: string;
  /** The numbers of the layers in the copy. */
  numbers: string[];
  /** The tree of the layers. */
  tree: Tree;
  /** The number of calls that use the copy. */
  users: number;
  used_at: number;
  /** True if the copy differs from the layers, and saving it would not change that. */
  spoilt: boolean;
}

interface StoredWorkspaces {
  /**
   * Returns the run's directory on this disk, up to date unless another call uses it. Each `enter` is followed by one `leave`.
   */
  enter(task_id: string, fill: ((into: string) => Promise<void>) | null, signal: AbortSignal): Promise<string>;
  /** Stores the changes; with null, stores nothing. Resolves when another worker would find them. */
  leave(task_id: string, record: RecordLayer | null, signal: AbortSignal): Promise<void>;
  /** Removes a run's workspace everywhere except on the disks of other workers, which drop unused copies by themselves. */
  remove(task_id: string): Promise<void>;
  /** Lists the ids of the runs that have objects. */
  listIds(): Promise<string[]>;
  close(): Promise<void>;
}

interface Options {
  /** The directory for the copies. Only this process uses it, and its existing contents are removed. */
  parent: string;
  objects: ObjectStore;
  record: LayerRecord;
  log(message: string): void;
}

const ROOT = 'workspaces/';
const toKeyPrefix = (task_id: string) => `${ROOT}${task_id}/`;
const DRAFT = '.draft-';
/** The time without a call after which a copy is dropped; the next call restores it. */
const UNUSED_MS = 10 * 60_000;
const LOOK_MS = 60_000;
/** A file that changed within this time before it was read may change again without another mark. */
const SAME_MARK_MS = 1_000;

/** Keeps workspaces in an object store: workers need no common file system, and a worker that dies loses no workspace. */
export async function openStoredWorkspaces({ parent, objects, record, log }: Options): Promise<StoredWorkspaces> {
  const copies = new Map<string, Copy>();
  const inTurn = createTurns();
  const toPlace = (task_id: string, signal: AbortSignal) => ({ objects, prefix: toKeyPrefix(task_id), signal });
  await mkdir(parent, { recursive: true, mode: 0o711 });
  for (const name of await readdir(parent)) await removeFolder(join(parent, name));

  async function drop(task_id: string): Promise<void> {
    const copy = copies.get(task_id);
    copies.delete(task_id);
    if (copy) await removeFolder(copy.directory);
  }

  /** Creates the directory in a place that no tool sees, then moves it to its own. */
  async function createCopy(task_id: string, numbers: string[], fill: (draft: string) => Promise<void>): Promise<Copy> {
    await drop(task_id);
    const draft = await mkdtemp(join(parent, `${DRAFT}${task_id}-`));
    try {
      await fill(draft);
      const directory = join(parent, task_id);
      await rename(draft, directory);
      const tree = await readTree(directory);
      const copy = { directory, numbers, tree, users: 0, used_at: performance.now(), spoilt: false };
      copies.set(task_id, copy);
      return copy;
    } finally {
      await removeFolder(draft);
    }
  }

  const restoreCopy = (task_id: string, layers: StoredLayer[], signal: AbortSignal): Promise<Copy> =>
    createCopy(
      task_id,
      layers.map(({ number }) => number),
      async (draft) => {
        await restoreLayers(draft, layers, toPlace(task_id, signal));
        await shareTop(draft);
      },
    );

  /** Creates the first copy of a run. If another worker was faster, its files are used. */
  async function first(task_id: string, fill: (into: string) => Promise<void>, signal: AbortSignal): Promise<Copy> {
    const copy = await createCopy(task_id, [], async (draft) => {
      await fill(draft);
      await shareWorkspace(draft);
    });
    const change = findTreeChange(new Map(), copy.tree);
    const number = await record.first(task_id, await storeLayer(copy.directory, change, toPlace(task_id, signal)));
    if (number === null) return restoreCopy(task_id, await record.find(task_id), signal);
    copy.numbers = [number];
    return copy;
  }

  async function current(task_id: string, fill: ((into: string) => Promise<void>) | null, signal: AbortSignal): Promise<Copy> {
    const copy = copies.get(task_id);
    if (copy && copy.users > 0) return copy;
    const layers = await record.find(task_id);
    if (layers.length === 0 && fill) return first(task_id, fill, signal);
    const same = copy && !copy.spoilt && String(copy.numbers) === String(layers.map(({ number }) => number));
    return same ? copy : restoreCopy(task_id, layers, signal);
  }

  async function store(task_id: string, copy: Copy, { save, signal }: { save: RecordLayer; signal: AbortSignal }): Promise<void> {
    const current_tree = await readTree(copy.directory);
    const change = findTreeChange(copy.tree, current_tree);
    if (isEmpty(change)) return;
    const number = await save(await storeLayer(copy.directory, change, toPlace(task_id, signal)));
    if (number === null) {
      copy.spoilt = true;
      return;
    }
    copy.numbers.push(number);
    copy.tree = copy.users > 1 ? withoutRecent(current_tree) : current_tree;
  }

  const look = setInterval(() => {
    for (const [task_id, { used_at }] of copies) {
      if (used_at > performance.now() - UNUSED_MS) continue;
      void inTurn(task_id, async () => (copies.get(task_id)?.users === 0 ? drop(task_id) : undefined)).catch(() => {});
    }
  }, LOOK_MS);
  look.unref();

  return {
    enter: (task_id, fill, signal) =>
      inTurn(task_id, async () => {
        const copy = await current(task_id, fill, signal);
        copy.users += 1;
        return copy.directory;
      }),
    leave: (task_id, save, signal) =>
      inTurn(task_id, async () => {
        const copy = copies.get(task_id);
        if (!copy) return;
        try {
          if (save) await retryWhileDown(() => store(task_id, copy, { save, signal }), signal, log);
        } finally {
          copy.users -= 1;
          copy.used_at = performance.now();
        }
      }),
    remove: (task_id) =>
      inTurn(task_id, async () => {
        await drop(task_id);
        await record.forget(task_id);
        await objects.remove(toKeyPrefix(task_id));
      }),
    listIds: () => objects.folders(ROOT),
    async close() {
      clearInterval(look);
      for (const task_id of copies.keys()) await drop(task_id);
    },
  };
}

/** Leaves out the marks of the files that changed last: another call may still be changing them. */
function withoutRecent(tree: Tree): Tree {
  const cutoff = [...tree.values()].reduce((last, { changed_at }) => Math.max(last, changed_at), 0) - SAME_MARK_MS;
  return new Map([...tree].map(([path, entry]) => [path, entry.changed_at > cutoff ? { ...entry, mark: '' } : entry]));
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** Retries for as long as the object store or the database is unavailable, so that the work of a call is not lost. */
async function retryWhileDown(store: () => Promise<void>, signal: AbortSignal, log: Options['log']): Promise<void> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await store();
    } catch (error) {
      signal.throwIfAborted();
      if (!findOutage(error)) throw error;
      log(`A workspace is not stored yet, trying again: ${(asLack(error) as Error).message}`);
      await wait(pause, undefined, { signal }).catch(() => {});
    }
  }
}

/** Runs work on the same key one piece after the other. */
function createTurns() {
  const last = new Map<string, Promise<unknown>>();
  return <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const turn = (last.get(key) ?? Promise.resolve()).then(work, work);
    const settled = turn.catch(() => {}).finally(() => last.get(key) === settled && last.delete(key));
    last.set(key, settled);
    return turn;
  };
}

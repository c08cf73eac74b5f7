import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { getPriority } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** What a picture of the machine covers: lists of facts, in which equal facts count. */
export type Picture = Record<Dimension, string[]>;
type Dimension = 'process' | 'file' | 'mount' | 'lock' | 'descriptor' | 'service';

export interface View {
  /** The process whose descendants count, orphans too if it adopts them. */
  ancestor: number;
  /** The folders whose content counts. What lies next to them belongs to other tests. */
  folders: readonly string[];
  /** Facts that do not count, with their dimension. */
  ignored?: RegExp;
}

const LOOK_MS = 50;
/** Users of sandboxes: which of them a sandbox has is left to chance. */
const FIRST_TOOL_UID = 60_700;
const LAST_TOOL_UID = 61_183;
const DEFUNCT = 'Z';
/** Files in shared memory that belong to servers of other tests. */
const SERVERS_MEMORY = /^(?:PostgreSQL\.|\.?org\.chromium\.)/;
/** Every holder of a lock file takes the next number. */
const LOCK_NUMBER = /(\.lock)\.\d+$/;
/** The folder whose stage has made a file in shared memory. */
const STAGE = /^(machine-[^.]*)\./;

/** Takes a picture of what this process and those around it hold of the machine. */
export function takePicture(view: View): Picture {
  const files = view.folders.flatMap((folder) => listFiles(folder));
  const processes = listDescendants(view.ancestor);
  const inodes = new Map(files.map(({ path, inode }) => [inode, path]));
  const memory = readdirSync('/dev/shm').filter((name) => !SERVERS_MEMORY.test(name) && !isOfOtherStage(name, view));
  const picture: Picture = {
    process: processes.map(describeProcess),
    file: [...files.map(({ path, mode }) => `${path} ${mode.toString(8)}`), ...memory.map((name) => `/dev/shm/${name}`)],
    mount: listMounts(view),
    lock: listLocks(new Set([process.pid, ...processes]), inodes),
    descriptor: listDescriptors(),
    service: describeService(),
  };
  for (const dimension of Object.keys(picture) as Dimension[])
    picture[dimension] = picture[dimension].filter((fact) => !view.ignored?.test(`${dimension}: ${fact}`));
  return picture;
}

/** Lists the facts of a picture that an earlier one does not have, and those of this process that are lost. */
export function compare(before: Picture, after: Picture): string[] {
  const dimensions = Object.keys(after) as Dimension[];
  return dimensions.flatMap((dimension) => [
    ...subtract(after[dimension], before[dimension]).map((fact) => `${dimension}: ${fact}`),
    ...(KEPT.has(dimension) ? subtract(before[dimension], after[dimension]).map((fact) => `${dimension} lost: ${fact}`) : []),
  ]);
}

/** Of these, nothing may be missing either. */
const KEPT: ReadonlySet<Dimension> = new Set(['mount', 'service']);

/**
 * Compares until both pictures are the same, or the patience ends: what has been ended takes its time to go, and what is replaced
 * to come back. What does not come back soon is not missed.
 */
export async function findRemains(before: Picture, view: View, patience_ms: number): Promise<string[]> {
  const began = performance.now();
  for (;;) {
    const after = takePicture(view);
    const left = compare(before, after);
    const waited_ms = performance.now() - began;
    if (waited_ms > patience_ms) return left;
    if (left.length === 0 && (waited_ms > SETTLE_MS || compare(after, before).length === 0)) return [];
    await wait(LOOK_MS);
  }
}

const SETTLE_MS = 2_000;

/** Takes a picture that stays the same for a while. */
export async function takeSteadyPicture(view: View, patience_ms: number): Promise<Picture> {
  let picture = takePicture(view);
  let since = performance.now();
  for (const until = since + patience_ms; performance.now() < until && performance.now() - since < STEADY_MS; ) {
    await wait(LOOK_MS);
    const next = takePicture(view);
    if (JSON.stringify(next) !== JSON.stringify(picture)) since = performance.now();
    picture = next;
  }
  return picture;
}

const STEADY_MS = 250;

function subtract(facts: readonly string[], known: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const fact of known) left.set(fact, (left.get(fact) ?? 0) + 1);
  return facts.filter((fact) => {
    const count = left.get(fact) ?? 0;
    left.set(fact, count - 1);
    return count <= 0;
  });
}

/** Lists the descendants of a process, itself and this process excluded. */
export function listDescendants(ancestor: number): number[] {
  const children = new Map<number, number[]>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = Number(readStat(pid)[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(pid)]);
  }
  const found: number[] = [];
  for (let next = [ancestor]; next.length > 0; ) {
    next = next.flatMap((pid) => children.get(pid) ?? []);
    found.push(...next);
  }
  return found.filter((pid) => pid !== process.pid);
}

/** Reads the state of a process, its parent and further fields; nothing if it has ended. */
function readStat(pid: number | string): string[] {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Describes a process by what does not change when it is replaced by its like. */
function describeProcess(pid: number): string {
  const [state] = readStat(pid);
  const uid = Number(/^Uid:\s+(\d+)/m.exec(readIfThere(`/proc/${pid}/status`))?.[1] ?? -1);
  const user = uid >= FIRST_TOOL_UID && uid <= LAST_TOOL_UID ? 'a tool' : uid;
  const command = readIfThere(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
  const rank = `nice ${orNothing(() => getPriority(pid))}, oom ${readIfThere(`/proc/${pid}/oom_score_adj`).trim()}`;
  return `${command}${state === DEFUNCT ? ' (defunct)' : ''}, user ${user}, ${rank}`;
}

function listFiles(folder: string): { path: string; inode: number; mode: number }[] {
  const names = orNothing(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  return names.flatMap((entry) => {
    const path = join(folder, entry.name);
    const shown = path.replace(LOCK_NUMBER, '$1');
    const stats = orNothing(() => statSync(path));
    const own = stats
      ? [{ path: shown, inode: stats.ino, mode: stats.mode }]
      : entry.isSymbolicLink()
        ? [{ path: shown, inode: 0, mode: 0 }]
        : [];
    return entry.isDirectory() ? [...own, ...listFiles(path)] : own;
  });
}

const isOfOtherStage = (name: string, { folders }: View): boolean => {
  const stage = STAGE.exec(name)?.[1];
  return stage !== undefined && !folders.some((folder) => basename(folder) === stage);
};

/** Lists the mounts by their place, kind and options, except those in the folders of other tests. */
function listMounts({ folders }: View): string[] {
  const isBelow = (folder: string, place: string) => place.startsWith(`${folder}/`);
  const isOwn = (place: string) => folders.some((folder) => place === folder || isBelow(folder, place));
  const isBeside = (place: string) => folders.some((folder) => isBelow(dirname(folder), place));
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').trim().split('\n');
  return lines.flatMap((line) => {
    const [root, place = '', ...rest] = line.split(' ').slice(3);
    return isOwn(place) || !isBeside(place) ? [[root, place, ...rest].join(' ')] : [];
  });
}

/** Lists the locks that these processes hold, or that are on these files. */
function listLocks(processes: ReadonlySet<number>, files: ReadonlyMap<number, string>): string[] {
  const lines = readFileSync('/proc/locks', 'utf8').trim().split('\n').filter(Boolean);
  return lines.flatMap((line) => {
    const [, kind, , access, pid, place = ''] = line.replace('-> ', '').split(/\s+/);
    const inode = Number(place.split(':')[2]);
    return processes.has(Number(pid)) || files.has(inode) ? [`${kind} ${access} ${files.get(inode) ?? inode}`] : [];
  });
}

/** Lists this process's descriptors: files by their path, the others by their kind. */
function listDescriptors(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    const target = orNothing(() => readlinkSync(`/proc/self/fd/${fd}`));
    return target && !target.endsWith('/fd') ? [target.replace(/:\[\d+\]$/, '')] : [];
  });
}

/** Describes what a call could have changed of this process itself. */
function describeService(): string[] {
  const status = readFileSync('/proc/self/status', 'utf8');
  const facts = ['Umask', 'Uid', 'Gid', 'Groups', 'NoNewPrivs', 'Seccomp', 'CapEff'];
  return [
    `folder ${process.cwd()}`,
    `niceness ${getPriority()}`,
    `oom_score_adj ${readFileSync('/proc/self/oom_score_adj', 'utf8').trim()}`,
    ...facts.map((name) => new RegExp(`^${name}:.*$`, 'm').exec(status)?.[0] ?? name),
    ...readFileSync('/proc/self/limits', 'utf8').trim().split('\n'),
  ];
}

const readIfThere = (path: string): string => orNothing(() => readFileSync(path, 'utf8')) ?? '';

/** Returns nothing if what is looked at has just gone. */
function orNothing<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

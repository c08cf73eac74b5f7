import { readdir, readFile } from 'node:fs/promises';

export interface Found {
  pid: number;
  parent: number;
  /** When it started, in seconds since 1970, to within two. */
  since: number;
  /** Its arguments. */
  argv: string[];
}

/** The running processes of this machine, without zombies. */
export async function livingProcesses(): Promise<Found[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const booted = Number((await readOr('/proc/stat')).match(/^btime (\d+)$/m)?.[1]);
  const found = await Promise.all(pids.map((pid) => look(Number(pid), booted)));
  return found.filter((it) => it !== null);
}

/** The kernel counts the start of a process in hundredths of a second since the machine's. */
const TICKS = 100;

async function look(pid: number, booted: number): Promise<Found | null> {
  const [stat, command] = await Promise.all([readOr(`/proc/${pid}/stat`), readOr(`/proc/${pid}/cmdline`)]);
  // The name of the program is in brackets and can contain any character.
  const [state, parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (!parent || state === 'Z' || state === 'X') return null;
  const since = booted + Number(rest[17]) / TICKS;
  return { pid, parent: Number(parent), since, argv: command.split('\0').filter(Boolean) };
}

const readOr = (file: string) => readFile(file, 'utf8').catch(() => '');

/** A process and its descendants. */
export async function treeOf(root: number): Promise<number[]> {
  const all = await livingProcesses();
  const tree = [root];
  for (const parent of tree) for (const it of all) if (it.parent === parent) tree.push(it.pid);
  return tree;
}

/** False if there is no such process. */
export function signalled(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

import { readdir, readFile } from 'node:fs/promises';

export interface Found {
  pid: number;
  parent: number;
  /** Its arguments. */
  argv: string[];
}

/** The running processes of this machine, without zombies. */
export async function livingProcesses(): Promise<Found[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map(Number).map(look));
  return found.filter((it) => it !== null);
}

async function look(pid: number): Promise<Found | null> {
  const [stat, command] = await Promise.all([readOr(`/proc/${pid}/stat`), readOr(`/proc/${pid}/cmdline`)]);
  // The name of the program is in brackets and can contain any character.
  const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (!parent || state === 'Z' || state === 'X') return null;
  return { pid, parent: Number(parent), argv: command.split('\0').filter(Boolean) };
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

import { readdir, readFile } from 'node:fs/promises';

/** The resources of a process and its children, read from /proc. */
export interface ProcessUse {
  /** The CPU time so far, including ended children. */
  cpu_ms: number;
  /** The memory, with shared pages counted once: each process's proportional set. */
  memory_mb: number;
}

const TICK_MS = 10;

async function useOf(pid: number, others: readonly number[]): Promise<ProcessUse | null> {
  const parents = await parentsByPid();
  if (!parents?.has(pid)) return null;
  const family = [pid];
  for (let index = 0; index < family.length; index += 1) {
    for (const [child, parent] of parents) if (parent === family[index] && !others.includes(child)) family.push(child);
  }
  const all = await Promise.all(family.map(single));
  const sum = (key: keyof ProcessUse) => all.reduce((total, use) => total + use[key], 0);
  return { cpu_ms: sum('cpu_ms'), memory_mb: sum('memory_mb') };
}

async function parentsByPid(): Promise<Map<number, number> | null> {
  const names = await readdir('/proc').catch(() => null);
  if (!names) return null;
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  return new Map(await Promise.all(pids.map(async (pid) => [pid, Number((await statOf(pid))[1])] as const)));
}

/** Reads the fields of /proc/…/stat after the name, which may contain anything. */
async function statOf(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

async function single(pid: number): Promise<ProcessUse> {
  const fields = await statOf(pid);
  const ticks = fields.slice(11, 15).reduce((total, field) => total + Number(field), 0);
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  const [, kb = '0'] = /^Pss:\s+(\d+)/m.exec(rollup) ?? [];
  return { cpu_ms: (ticks || 0) * TICK_MS, memory_mb: Number(kb) / 1024 };
}

/** Returns the use of each part by name; null if there is no /proc. A part that another one started is counted once. */
export async function usesOf(pids: Record<string, number>): Promise<Record<string, ProcessUse | null>> {
  const all = Object.entries(pids);
  const others = (pid: number) => Object.values(pids).filter((other) => other !== pid);
  return Object.fromEntries(await Promise.all(all.map(async ([name, pid]) => [name, await useOf(pid, others(pid))] as const)));
}

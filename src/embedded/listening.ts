import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { run } from './processes.ts';

/** Whether this process listens on the port: an answer alone may come from another server. */
export async function listens(pid: number, port: number): Promise<boolean> {
  return process.platform === 'linux' ? listensOnLinux(pid, port) : listensByLsof(pid, port);
}

/** The kernel lists sockets by inode, and a process has links to its sockets' inodes. */
async function listensOnLinux(pid: number, port: number): Promise<boolean> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')));
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const LISTENING = '0A';
  const rows = tables.flatMap((table) => table.split('\n').map((row) => row.trim().split(/\s+/)));
  const sockets = rows.filter((row) => row[1]?.endsWith(local) && row[3] === LISTENING).map((row) => `socket:[${row[9]}]`);
  if (sockets.length === 0) return false;
  return (await openedBy(pid)).some((target) => sockets.includes(target));
}

/** Whether a process has a file open, as opposed to another file that was once at the same path. */
export async function hasOpen(pid: number, file: string): Promise<boolean> {
  const path = await realpath(file).catch(() => file);
  if (process.platform === 'linux') return (await openedBy(pid)).includes(path);
  return (await run('lsof', ['-a', '-p', String(pid), '-F', 'n'])).output.split('\n').includes(`n${path}`);
}

/** The open files and sockets of a process, as Linux shows them. */
async function openedBy(pid: number): Promise<string[]> {
  const directory = `/proc/${pid}/fd`;
  const names = await readdir(directory).catch(() => []);
  return Promise.all(names.map((name) => readlink(`${directory}/${name}`).catch(() => '')));
}

async function listensByLsof(pid: number, port: number): Promise<boolean> {
  const { output } = await run('lsof', ['-nP', '-a', '-p', String(pid), `-iTCP:${port}`, '-sTCP:LISTEN', '-t']);
  return output.trim() === String(pid);
}

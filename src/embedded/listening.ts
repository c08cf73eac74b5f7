import { readdir, readFile, readlink } from 'node:fs/promises';
import { run } from './processes.ts';

/** Whether it is this very process that takes connections on the port: an answer alone may come from another server. */
export async function listens(pid: number, port: number): Promise<boolean> {
  return process.platform === 'linux' ? listensOnLinux(pid, port) : listensByLsof(pid, port);
}

/** The kernel lists sockets by inode, and a process has links to the inodes of its own. */
async function listensOnLinux(pid: number, port: number): Promise<boolean> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')));
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const LISTENING = '0A';
  const rows = tables.flatMap((table) => table.split('\n').map((row) => row.trim().split(/\s+/)));
  const sockets = rows.filter((row) => row[1]?.endsWith(local) && row[3] === LISTENING).map((row) => `socket:[${row[9]}]`);
  if (sockets.length === 0) return false;
  const directory = `/proc/${pid}/fd`;
  const names = await readdir(directory).catch(() => []);
  const targets = await Promise.all(names.map((name) => readlink(`${directory}/${name}`).catch(() => '')));
  return targets.some((target) => sockets.includes(target));
}

async function listensByLsof(pid: number, port: number): Promise<boolean> {
  const { output } = await run('lsof', ['-nP', '-a', '-p', String(pid), `-iTCP:${port}`, '-sTCP:LISTEN', '-t']);
  return output.trim() === String(pid);
}

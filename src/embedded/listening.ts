import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { run } from './processes.ts';

/** True if this process listens on the port. An answer on the port is not enough, since another server may have sent it. */
export async function listens(pid: number, port: number): Promise<boolean> {
  return process.platform === 'linux' ? listensOnLinux(pid, port) : listensByLsof(pid, port);
}

/** Checks the sockets of a process: the kernel lists sockets by inode, and a process has links to its sockets' inodes. */
async function listensOnLinux(pid: number, port: number): Promise<boolean> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')));
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const LISTENING = '0A';
  const rows = tables.flatMap((table) => table.split('\n').map((row) => row.trim().split(/\s+/)));
  const sockets = rows.filter((row) => row[1]?.endsWith(local) && row[3] === LISTENING).map((row) => `socket:[${row[9]}]`);
  if (sockets.length === 0) return false;
  return (await listOpenFiles(pid)).some(([, target]) => sockets.includes(target));
}

/**
 * True if a process has this very file open. A file of the same name may have been deleted or moved and replaced by a copy.
 * Null if the process has no file of that name open.
 */
export async function hasOpen(pid: number, file: string): Promise<boolean | null> {
  const target_file = await stat(file, { bigint: true }).catch(() => null);
  const open = await (process.platform === 'linux' ? openOnLinux : openByLsof)(pid, basename(file));
  if (open.length === 0) return null;
  return (
    target_file !== null && open.some(({ dev, ino }) => ino === target_file.ino && (dev === null || dev === target_file.dev))
  );
}

interface FileIdentity {
  dev: bigint | null;
  ino: bigint;
}

async function openOnLinux(pid: number, name: string): Promise<FileIdentity[]> {
  const identities: FileIdentity[] = [];
  const targets = await listOpenFiles(pid);
  for (const [descriptor, target] of targets) {
    if (!target.endsWith(`/${name}`) && !target.endsWith(`/${name} (deleted)`)) continue;
    const identity = await stat(`/proc/${pid}/fd/${descriptor}`, { bigint: true }).catch(() => null);
    if (identity) identities.push(identity);
  }
  return identities;
}

async function openByLsof(pid: number, name: string): Promise<FileIdentity[]> {
  const lines = (await run('lsof', ['-a', '-p', String(pid), '-F', 'in'])).output.split('\n');
  return lines.flatMap((line, index) => {
    const inode = lines[index - 1];
    return line.startsWith('n') && basename(line) === name && inode?.startsWith('i')
      ? [{ dev: null, ino: BigInt(inode.slice(1)) }]
      : [];
  });
}

/** Lists the open files and sockets of a process by descriptor, as Linux reports them. */
async function listOpenFiles(pid: number): Promise<[descriptor: string, target: string][]> {
  const directory = `/proc/${pid}/fd`;
  const names = await readdir(directory).catch(() => []);
  return Promise.all(
    names.map(async (name) => [name, await readlink(`${directory}/${name}`).catch(() => '')] as [string, string]),
  );
}

async function listensByLsof(pid: number, port: number): Promise<boolean> {
  const { output } = await run('lsof', ['-nP', '-a', '-p', String(pid), `-iTCP:${port}`, '-sTCP:LISTEN', '-t']);
  return output.trim() === String(pid);
}

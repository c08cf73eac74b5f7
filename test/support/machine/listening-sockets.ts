import { readdir, readFile, readlink } from 'node:fs/promises';

export interface ListeningSocket {
  address: string;
  port: number;
}

/** Lists every TCP socket on which a process and its children accept connections, as the kernel reports them. Linux only. */
export async function listeningSockets(pid: number): Promise<ListeningSocket[]> {
  const links = await Promise.all(
    (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')),
  );
  const own = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')));
  return tables
    .flatMap((table) => table.split('\n').slice(1))
    .flatMap((row) => {
      const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/);
      const [address = '', port = ''] = local.split(':');
      if (state !== '0A' || !own.has(inode)) return [];
      return [{ address: address.length === 8 ? dotted(address) : `[${address}]`, port: Number.parseInt(port, 16) }];
    });
}

const dotted = (hex: string) => [6, 4, 2, 0].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join('.');

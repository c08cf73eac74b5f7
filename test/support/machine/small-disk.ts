import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdtemp, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asOperator } from '../database/operator.ts';

/** A separate file system that can be filled. */
export interface SmallDisk {
  folder: string;
  /** Fills the file system completely. */
  fill(): Promise<void>;
  makeRoom(): void;
  remove(): Promise<void>;
}

export const NO_DISK = 'this process may not mount a file system';

const remount = (folder: string, size: string) =>
  spawnSync('mount', ['-o', `remount,size=${size}`, folder], { stdio: 'ignore' }).status === 0;

/** Mounts a small file system; null if this process may not mount one. */
export async function mountSmallDisk(size = '40m'): Promise<SmallDisk | null> {
  const folder = await mkdtemp(join(tmpdir(), 'perdura-disk-'));
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'perdura-test', folder], { stdio: 'ignore' }).status !== 0) {
    await rm(folder, { recursive: true, force: true });
    return null;
  }
  return {
    folder,
    async fill() {
      // The disk is shrunk to its content. If someone writes in between, the content does not fit any more, and it is tried
      // again.
      for (let tries = 0; tries < 100; tries += 1) {
        const { blocks, bfree, bsize } = await statfs(folder);
        if (remount(folder, String((blocks - bfree) * bsize))) return;
      }
      throw new Error(`${folder} could not be filled`);
    },
    makeRoom: () => void remount(folder, size),
    async remove() {
      spawnSync('umount', ['--lazy', folder], { stdio: 'ignore' });
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Creates a database of a server on a disk. Its write-ahead log stays in the server's own place. */
export async function databaseOn(disk: SmallDisk, server_url: string, template = 'template1') {
  const name = `small_${randomBytes(4).toString('hex')}`;
  await asOperator(server_url, async (operator) => {
    const { rows } = await operator.query<{ data_directory: string }>('SHOW data_directory');
    const { uid, gid } = await stat(rows[0]!.data_directory);
    await chown(disk.folder, uid, gid);
    await operator.query(`CREATE TABLESPACE ${name} LOCATION '${disk.folder}'`);
    await operator.query(`CREATE DATABASE ${name} TEMPLATE ${template} TABLESPACE ${name}`);
  });
  const url = new URL(server_url);
  url.pathname = name;
  return {
    url: url.href,
    drop: () =>
      asOperator(server_url, async (operator) => {
        await operator.query(`DROP DATABASE ${name} WITH (FORCE)`);
        await operator.query(`DROP TABLESPACE ${name}`);
      }),
  };
}

import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeLock } from '../../src/embedded/lock-file.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'perdura-lock-'));
});
afterEach(() => rm(root, { recursive: true }));

const take = async (home: string) => {
  const lock = await takeLock(join(root, home, 'dev.lock'));
  return lock.held ? lock : lock.holder.pid;
};

describe('the lock of a home', () => {
  it('is held by one process until it is released', async () => {
    const lock = await takeLock(join(root, 'home', 'dev.lock'));
    expect(lock.held).toBe(true);
    expect(await take('home')).toBe(process.pid);
    if (lock.held) await lock.release();
    expect(await take('home')).toMatchObject({ held: true });
  });

  it('is not held in a copy of the home, and still is after the home was moved', async () => {
    expect(await take('home')).toMatchObject({ held: true });
    await cp(join(root, 'home'), join(root, 'copy'), { recursive: true });
    expect(await take('copy')).toMatchObject({ held: true });
    await rename(join(root, 'home'), join(root, 'moved'));
    expect(await take('moved')).toBe(process.pid);
  });
});

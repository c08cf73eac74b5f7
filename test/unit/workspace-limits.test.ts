import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { measureSize } from '../../src/tools/size-watch.ts';
import { runWithinLimits, toWorkspaceLimits } from '../../src/tools/workspace-limits.ts';
import { createWorkspaces } from '../../src/tools/workspaces.ts';

const SETTINGS = { WORKSPACE_MB: 3, WORKSPACE_FILES: 17 };
const KIB = 1024;

/** The answer of a call that finds some files in its workspace and adds others; sizes in bytes. */
async function callWith(found: number[], added: number[] = []): Promise<{ content: string; failed: boolean; started: boolean }> {
  const directory = await mkdtemp(join(tmpdir(), 'perdura-limits-'));
  let made = 0;
  const write = async (sizes: number[]) => {
    for (const size of sizes) await writeFile(join(directory, `f${++made}`), Buffer.alloc(size));
  };
  let started = false;
  try {
    await write(found);
    const outcome = await runWithinLimits(toWorkspaceLimits(SETTINGS), async ({ enter }) => {
      await enter(directory);
      started = true;
      await write(added);
      return { content: 'written', failed: false };
    });
    return { ...outcome, started };
  } finally {
    await rm(directory, { recursive: true });
  }
}

const TOO_LARGE = 'The workspace holds more than 3 MiB (WORKSPACE_MB); no tool may write in it any more';
const TOO_MANY = 'The workspace holds more than 17 files (WORKSPACE_FILES); no tool may write in it any more';
const files = (count: number) => Array<number>(count).fill(1);
/** Twelve files, the size of the limit together, and some KiB more or less. The size is that on the disk, in blocks of 4 KiB. */
const megabytes = (more_kib: number) => [...Array<number>(11).fill(256 * KIB), (256 + more_kib) * KIB];

describe('a workspace of WORKSPACE_MB and WORKSPACE_FILES', () => {
  it.each([
    ['4 KiB less', megabytes(-4)],
    ['exactly as many bytes', megabytes(0)],
    ['one file less', files(16)],
    ['exactly as many files', files(17)],
  ])('takes %s', async (_, sizes) => {
    expect(await callWith(sizes)).toEqual({ content: 'written', failed: false, started: true });
    expect(await callWith([], sizes)).toEqual({ content: 'written', failed: false, started: true });
    expect(await callWith(sizes.slice(1), sizes.slice(0, 1))).toEqual({ content: 'written', failed: false, started: true });
  });

  it.each([
    ['4 KiB more', megabytes(4), TOO_LARGE],
    ['one file more', files(18), TOO_MANY],
  ])('takes no more writes with %s', async (_, sizes, reason) => {
    expect(await callWith(sizes)).toEqual({ content: reason, failed: true, started: false });
    expect(await callWith([], sizes)).toEqual({ content: `written\n[${reason}]`, failed: true, started: true });
    expect(await callWith(sizes.slice(1), sizes.slice(0, 1))).toMatchObject({ content: `written\n[${reason}]`, failed: true });
  });
});

it('a call that fills its workspace while it runs is ended', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'perdura-limits-'));
  const outcome = await runWithinLimits(toWorkspaceLimits(SETTINGS), async ({ enter, full }) => {
    await enter(directory);
    for (const name of files(18).keys()) await writeFile(join(directory, String(name)), '');
    await new Promise((_resolve, reject) => full.addEventListener('abort', () => reject(full.reason)));
    return { content: 'never', failed: false };
  });
  expect(outcome).toEqual({ content: TOO_MANY, failed: true });
  await rm(directory, { recursive: true });
});

describe('the directory of a run', () => {
  const opened = async (fill: (parent: string, draft: string) => Promise<void>) => {
    const parent = await mkdtemp(join(tmpdir(), 'perdura-workspaces-'));
    try {
      const directory = await createWorkspaces(parent).openDirectory('run', (draft) => fill(parent, draft));
      return { files: await readdir(directory), left: await readdir(parent) };
    } finally {
      await rm(parent, { recursive: true });
    }
  };

  it('is the one of the call that was first, if two fill it at once', async () => {
    const outcome = await opened(async (parent, draft) => {
      await writeFile(join(draft, 'second'), '');
      await mkdir(join(parent, 'run'));
      await writeFile(join(parent, 'run', 'first'), '');
    });
    expect(outcome).toEqual({ files: ['first'], left: ['run'] });
  });

  it('is not there if it could not be filled', async () => {
    await expect(opened((_parent, draft) => rm(draft, { recursive: true }))).rejects.toThrow(
      'ENOENT: no such file or directory, rename',
    );
  });

  it('is too large if it is too deep to be measured', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'perdura-deep-'));
    await mkdir(join(parent, ...Array<string>(130).fill('d')), { recursive: true });
    const { fault } = await measureSize(parent, { bytes: 1_024 ** 3 });
    expect(fault).toMatch(/^its size cannot be measured: (?:d\/)+.*lies more than 128 levels deep$/);
    await rm(parent, { recursive: true });
  });
});

import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openFolder } from '../../src/folders/folder.ts';
import { makeReadable } from '../../src/folders/readable.ts';
import { removeFolder } from '../../src/folders/remove.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-folders-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const modeOf = async (name: string) => Number((await lstat(join(home, name))).mode & 0o7777);

describe('a folder that a tool has closed', () => {
  it('can be read by its owner again, who gets no other right', async () => {
    await mkdir(join(home, 'inner'));
    for (const [name, mode] of [
      ['closed', 0o000],
      ['inner/written', 0o200],
      ['open', 0o644],
    ] as const) {
      await writeFile(join(home, name), '');
      await chmod(join(home, name), mode);
    }
    await symlink('closed', join(home, 'link'));
    await makeReadable(home);
    expect(await Promise.all(['closed', 'inner/written', 'open'].map(modeOf))).toEqual([0o400, 0o600, 0o644]);
  });

  it('may be missing', async () => {
    await makeReadable(join(home, 'none'));
    expect(await readdir(home)).toEqual([]);
  });
});

describe('removing a folder', () => {
  it('removes also a file or a link in its place, not what a link leads to', async () => {
    await writeFile(join(home, 'file'), '');
    await symlink('kept', join(home, 'link'));
    await mkdir(join(home, 'kept'));
    for (const name of ['file', 'link', 'none']) await removeFolder(join(home, name));
    expect(await readdir(home)).toEqual(['kept']);
  });
});

describe('an open folder', () => {
  it('takes only the names of entries in it', async () => {
    const folder = await openFolder(home);
    for (const name of ['', '.', '..', 'a/b', 'a\0b'])
      await expect(folder.stat(name)).rejects.toThrow('is not a name in a folder');
    await folder.close();
  });

  it('reads and changes no pipe, which could block it', async () => {
    execFileSync('mkfifo', ['-m', '600', join(home, 'pipe')]);
    const folder = await openFolder(home);
    await expect(folder.read('pipe')).rejects.toMatchObject({ code: 'EINVAL' });
    await folder.changeMode('pipe', () => 0o777);
    expect(await modeOf('pipe')).toBe(0o600);
    await folder.close();
  });

  it('does nothing any more once it is closed', async () => {
    const folder = await openFolder(home);
    await folder.close();
    await expect(folder.names()).rejects.toThrow('The folder is closed');
  });
});

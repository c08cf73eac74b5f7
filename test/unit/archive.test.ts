import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listTopLevel, pack, readMember, unpack } from '../../src/embedded/archive.ts';

let folder: string;
let whole: Buffer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-archive-'));
  await writeFile(join(folder, 'manifest.json'), '{}');
  const file = join(folder, 'packed');
  await pack(file, [{ folder, paths: ['manifest.json'] }], new AbortController().signal);
  // A reader of the archive stops at its end mark; what follows is long enough for a reader of the file to notice that.
  whole = gzipSync(Buffer.concat([gunzipSync(await readFile(file)), Buffer.alloc(32 * 1_024 ** 2)]));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function list(content: Buffer): Promise<Set<string>> {
  const file = join(folder, 'file');
  await writeFile(file, content);
  return listTopLevel(file);
}

const withChange = (at: number): Buffer => {
  const content = Buffer.from(whole);
  content[content.length + at] = content.at(at)! ^ 0xff;
  return content;
};

it('a packed file that is whole is listed', async () => {
  expect((await list(whole)).has('manifest.json')).toBe(true);
});

it.each<[string, () => Buffer]>([
  ['whose checksum is wrong', () => withChange(-8)],
  ['whose length is wrong', () => withChange(-1)],
  ['without its last byte', () => whole.subarray(0, -1)],
  ['without its checksum', () => whole.subarray(0, -8)],
])('a packed file %s is damaged, although all of its archive can be read', async (_what, content) => {
  await expect(list(content())).rejects.toThrow(/^[^\n]+$/);
});

it('what is not an archive, or not there, is reported in one line', async () => {
  await expect(list(gzipSync('not an archive '.repeat(99)))).rejects.toThrow(/^tar: [^\n]+$/);
  const [file, never] = [join(folder, 'none'), new AbortController().signal];
  await expect(pack(file, [{ folder, paths: ['missing.json'] }], never)).rejects.toThrow(/^tar: missing.json: [^\n]+$/);
  await writeFile(file, gzipSync('not an archive '.repeat(99)));
  await expect(unpack(file, folder)).rejects.toThrow(/^tar: [^\n]+$/);
});

it('a file of a packed one is read, and one that it does not have is not there', async () => {
  const file = join(folder, 'file');
  await writeFile(file, whole);
  expect([await readMember(file, 'manifest.json'), await readMember(file, 'other.json')]).toEqual(['{}', undefined]);
});

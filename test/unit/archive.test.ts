import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listTopLevel, pack } from '../../src/embedded/archive.ts';

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

import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/main/config.ts';
import { type Layer, restoreLayers, storeLayer } from '../../src/tools/snapshots/layer.ts';
import { createS3Store, parseS3Settings } from '../../src/tools/snapshots/object-store.ts';
import { openStoredWorkspaces } from '../../src/tools/snapshots/stored-workspaces.ts';
import { findTreeChange, isEmpty, readTree, type Tree } from '../../src/tools/snapshots/tree.ts';
import { startObjectStore, type TestObjectStore } from '../support/peers/object-store.ts';

let store: TestObjectStore;
let home: string;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'perdura-snapshots-'));
  store = await startObjectStore();
});
afterAll(async () => {
  await store.stop();
  rmSync(home, { recursive: true, force: true });
});

const signal = new AbortController().signal;
let made = 0;
const folder = () => mkdtempSync(join(home, `${++made}-`));
const place = () => ({ objects: store.objects, prefix: `workspaces/${++made}/`, signal });
const sh = (cwd: string, script: string) => execFileSync('/bin/sh', ['-c', script], { cwd }).toString();

/** What a directory looks like from outside: every path with its kind, mode, time, content and target. */
const look = (directory: string) =>
  sh(
    directory,
    `find . -mindepth 1 -printf '%P %y %m %Ts %l ' -a '(' -type f -exec sha256sum '{}' ';' -o -printf '\\n' ')' | LC_ALL=C sort`,
  );

/** A workspace that is stored after each of several scripts. */
async function stored(
  scripts: string[],
  where = place(),
): Promise<{ directory: string; layers: Layer[]; where: ReturnType<typeof place> }> {
  const directory = folder();
  const layers: Layer[] = [];
  let tree: Tree = new Map();
  for (const script of scripts) {
    sh(directory, script);
    const found = await readTree(directory);
    const change = findTreeChange(tree, found);
    if (!isEmpty(change)) layers.push(await storeLayer(directory, change, where));
    tree = found;
  }
  return { directory, layers, where };
}

async function restored(layers: Pick<Layer, 'chunks'>[], where: ReturnType<typeof place>): Promise<string> {
  const directory = folder();
  await restoreLayers(directory, layers, where);
  return directory;
}

const WHERE = {
  prefix: 'workspaces/crafted/',
  get objects() {
    return store.objects;
  },
  signal,
};

/** Stores the bytes of a layer as they are. */
async function putLayer(content: Buffer): Promise<Pick<Layer, 'chunks'>> {
  const name = createHash('sha256').update(content).digest('hex');
  await store.objects.put(WHERE.prefix + name, content, signal);
  return { chunks: [name] };
}

describe('layers of a workspace', () => {
  it.each<[string, string[]]>([
    [
      'files, directories and modes',
      ['mkdir -p a/b empty; echo one > a/b/c; echo two > d; chmod 755 d; chmod 500 empty; chmod 400 a/b/c'],
    ],
    [
      'names of any bytes',
      [`printf x > "$(printf 'caf\\351 \\n\\\\ "')"; mkdir "$(printf '\\377')"; printf y > "$(printf '\\377')/z"`],
    ],
    ['links, also to nowhere and to outside', ['ln -s /etc/passwd out; ln -s nowhere gone; mkdir d; ln -s d in; echo x > d/f']],
    [
      'changes of content, mode and time',
      ['echo 1 > a; echo 2 > b; echo 3 > c', 'echo 4 > a; chmod 700 b; touch -d 2001-01-01 c'],
    ],
    ['removals', ['mkdir -p x/y; echo 1 > x/y/z; echo 2 > w; echo 3 > v', 'rm -r x; rm w', 'echo 5 > w']],
    [
      'a file that becomes a directory, and back',
      [
        'echo 1 > a; mkdir b; echo 2 > b/c',
        'rm -r a b; mkdir a; echo 3 > a/d; echo 4 > b',
        'rm -r a b; ln -s x a; mkdir -p b/c; echo 5 > b/c/d',
      ],
    ],
    [
      'a file that is rewritten with its old size and time',
      ['echo aaaa > f; touch -d 2001-01-01 f', 'echo bbbb > f; touch -d 2001-01-01 f'],
    ],
    [
      'content beyond one chunk',
      ['head -c 9000000 /dev/urandom > big; head -c 5000000 /dev/zero > zeros', 'head -c 10 /dev/urandom >> big'],
    ],
    ['nothing', ['true']],
  ])('bring back %s', async (_, scripts) => {
    const { directory, layers, where } = await stored(scripts);
    expect(look(await restored(layers, where))).toBe(look(directory));
  });

  it('hold only what has changed', async () => {
    const { layers } = await stored([
      'head -c 3000000 /dev/urandom > big; echo a > small',
      'echo b > small',
      'cat big > /dev/null',
      'touch .',
    ]);
    expect(layers).toHaveLength(2);
    expect(layers[1]!.bytes).toBeLessThan(1_000);
  });

  it('of two workers at once are joined, path by path', async () => {
    const where = place();
    const { directory, layers } = await stored(['echo 1 > both; echo 2 > old; mkdir d; echo 3 > d/e'], where);
    const other = await restored(layers, where);
    const [before, there] = [await readTree(directory), await readTree(other)];
    sh(directory, 'echo mine > mine; rm old');
    sh(other, 'echo yours > yours; rm -r d; echo later > both');
    layers.push(await storeLayer(directory, findTreeChange(before, await readTree(directory)), where));
    layers.push(await storeLayer(other, findTreeChange(there, await readTree(other)), where));
    expect(sh(await restored(layers, where), 'ls; cat both mine yours').split('\n')).toEqual([
      'both',
      'mine',
      'yours',
      'later',
      'mine',
      'yours',
      '',
    ]);
  });

  it('write nothing through a link', async () => {
    const outside = folder();
    const where = place();
    const [one, other] = [folder(), folder()];
    symlinkSync(outside, join(one, 'way'));
    mkdirSync(join(other, 'way'));
    writeFileSync(join(other, 'way/file'), 'x');
    const layer = async (directory: string) => storeLayer(directory, findTreeChange(new Map(), await readTree(directory)), where);
    const layers = [await layer(one), await layer(other)];
    for (const order of [layers, layers.toReversed()]) await restored(order, where);
    expect(look(outside)).toBe('');
    expect(lstatSync(join(await restored(layers, where), 'way')).isDirectory()).toBe(true);
    expect(readlinkSync(join(await restored(layers.toReversed(), where), 'way'))).toBe(outside);
  });

  it('of two workers at once keep what is in a directory that one of them replaced by a link', async () => {
    const where = place();
    const { directory, layers } = await stored(['mkdir way; echo 1 > way/file'], where);
    const other = await restored(layers, where);
    const [before, there] = [await readTree(directory), await readTree(other)];
    sh(directory, 'rm -r way; ln -s /etc way');
    sh(other, 'echo 2 > way/file');
    layers.push(await storeLayer(directory, findTreeChange(before, await readTree(directory)), where));
    layers.push(await storeLayer(other, findTreeChange(there, await readTree(other)), where));
    expect(sh(await restored(layers, where), 'ls -ld way | cut -c1; cat way/file')).toBe('d\n2\n');
  });

  it('that are lost or changed in the store are not taken for a workspace', async () => {
    const { layers, where } = await stored(['echo a > a']);
    const [name] = layers[0]!.chunks as [string];
    await store.objects.put(where.prefix + name, Buffer.from('something else'), signal);
    await expect(restored(layers, where)).rejects.toThrow(/has changed workspaces.*, a part of this run's workspace/);
    await store.objects.remove(where.prefix);
    await expect(restored(layers, where)).rejects.toThrow(/has lost workspaces.*, a part of this run's workspace/);
  });

  it.each<[string, object, string, RegExp]>([
    ['that ends within a file', { nodes: [{ path: 'a', kind: 'file', size: 7 }], removed: [] }, 'abc', /ends early$/],
    ['with a name longer than any', { nodes: [{ path: 'x'.repeat(300), kind: 'directory' }], removed: [] }, '', /ENAMETOOLONG/],
  ])('are not restored from one %s', async (_, change, content, sentence) => {
    await expect(restored([await putLayer(gzipSync(`${JSON.stringify(change)}\n${content}`))], WHERE)).rejects.toThrow(sentence);
  });

  it('are not restored from one whose list of changes is longer than any', async () => {
    const mebibyte = gzipSync(Buffer.alloc(1_024 ** 2));
    const layer = await putLayer(Buffer.concat(Array<Buffer>(257).fill(mebibyte)));
    await expect(restored([layer], WHERE)).rejects.toThrow('A part of the workspace has no end of its list');
  });

  it('whose bytes end with a chunk have no chunk after it', async () => {
    const chunk = 4 * 1_024 ** 2;
    const sizes: number[] = [];
    const objects = { ...store.objects, put: async (_: string, content: Uint8Array) => void sizes.push(content.length) };
    const directory = folder();
    const content = randomBytes(chunk);
    // Random bytes are not compressed: each that is left out shortens the layer by one.
    for (let size = chunk, excess = 1_009; excess !== 0; size -= excess) {
      writeFileSync(join(directory, 'file'), content.subarray(0, size));
      sizes.length = 0;
      const { bytes } = await storeLayer(directory, findTreeChange(new Map(), await readTree(directory)), {
        ...place(),
        objects,
      });
      excess = bytes - chunk;
    }
    expect(sizes).toEqual([chunk]);
  });

  it('are read of directories that a tool has closed', async () => {
    const directory = folder();
    mkdirSync(join(directory, 'closed'));
    writeFileSync(join(directory, 'closed/file'), 'x');
    chmodSync(join(directory, 'closed'), 0);
    expect([...(await readTree(directory)).keys()]).toEqual(['closed', 'closed/file']);
  });
});

describe('an object store', () => {
  it('returns what was put, lists folders, and removes by prefix', async () => {
    const { objects } = store;
    for (const name of ['one/a', 'one/b', 'two/a']) await objects.put(`list/${name}`, Buffer.from(name), signal);
    expect((await objects.get('list/one/b', signal))?.toString()).toBe('one/b');
    expect(await objects.get('list/none', signal)).toBeNull();
    expect((await objects.folders('list/')).sort()).toEqual(['one', 'two']);
    await objects.remove('list/one/');
    expect(await objects.folders('list/')).toEqual(['two']);
    expect(await objects.get('list/one/a', signal)).toBeNull();
  });

  it.each([
    ['an unknown key', { S3_ACCESS_KEY_ID: 'unknown' }, /answered PUT with 403 InvalidAccessKeyId/],
    ['no such bucket', { S3_BUCKET: 'missing' }, /missing answered PUT with 404 NoSuchBucket/],
    [
      'nobody at its address',
      { S3_ENDPOINT: 'http://127.0.0.1:29999' },
      /127.0.0.1:29999\/workspaces is unreachable: .*ECONNREFUSED/,
    ],
  ])('reports %s, without the key', async (_, env, sentence) => {
    const settings = parseS3Settings(readConfig({ ...store.env, ...env }))!;
    const failure = await createS3Store(settings, fetch)
      .put('key', Buffer.from('x'), signal)
      .catch((error: Error) => error);
    expect((failure as Error).message).toMatch(sentence);
    expect((failure as Error).message).not.toContain('S3RVER');
  });

  it('that refuses to read is not taken for one without the object', async () => {
    const settings = parseS3Settings(readConfig({ ...store.env, S3_BUCKET: 'missing' }))!;
    await expect(createS3Store(settings, fetch).get('key', signal)).rejects.toThrow(/missing answered GET with 404 NoSuchBucket/);
    const proxy = async () => new Response('<html>No</html>', { status: 403, statusText: 'Forbidden' });
    const behind = createS3Store(parseS3Settings(readConfig(store.env))!, proxy);
    await expect(behind.get('key', signal)).rejects.toThrow(/answered GET with 403 Forbidden \(S3_BUCKET, S3_ACCESS_KEY_ID\)$/);
  });

  it('needs its credentials', () => {
    expect(() => parseS3Settings(readConfig({ S3_BUCKET: 'b' }))).toThrow(/set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY/);
    expect(parseS3Settings(readConfig({}))).toBeNull();
  });

  it('keeps objects under its prefix', async () => {
    const other = createS3Store(parseS3Settings(readConfig({ ...store.env, S3_PREFIX: 'other/' }))!, fetch);
    await other.put('mine/x', Buffer.from('x'), signal);
    expect(await store.objects.get('mine/x', signal)).toBeNull();
    await store.objects.remove('mine/');
    expect((await other.get('mine/x', signal))?.toString()).toBe('x');
  });
});

it('files of a call that another worker has taken over are gone for the next call, those of the other one are there', async () => {
  const layers: (Layer & { number: string })[] = [];
  const save = async (layer: Layer) => {
    layers.push({ ...layer, number: String(layers.length + 1) });
    return String(layers.length);
  };
  const record = { find: async () => [...layers], first: (_: string, layer: Layer) => save(layer), forget: async () => {} };
  const open = () => openStoredWorkspaces({ parent: folder(), objects: store.objects, record, log: () => {} });
  const [mine, other] = [await open(), await open()];
  const task_id = `taken-over-${++made}`;
  const call = async (worker: typeof mine, script: string, how: typeof save | (() => Promise<null>) = save) => {
    const directory = await worker.enter(task_id, async (into) => writeFileSync(join(into, 'README'), 'given'), signal);
    const said = sh(directory, script);
    await worker.leave(task_id, how, signal);
    return said.split('\n').filter(Boolean);
  };
  await call(mine, 'echo 1 > kept');
  await call(mine, 'echo 2 > stale; rm README', async () => null);
  expect(await call(mine, 'LC_ALL=C ls')).toEqual(['README', 'kept']);
  await call(other, 'echo 3 > theirs');
  expect(await call(mine, 'LC_ALL=C ls')).toEqual(['README', 'kept', 'theirs']);
  await Promise.all([mine.close(), other.close()]);
});

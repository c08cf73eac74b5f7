import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGuardedFetch } from '../../src/egress/guarded-fetch.ts';
import { startToolRunner } from '../../src/toolrunner/index.ts';
import type { PythonToolRunner } from '../../src/toolrunner/python-tool-runner.ts';
import { bashTool } from '../../src/tools/builtin/bash.ts';
import { builtinSpecs, createBuiltinTools } from '../../src/tools/builtin/index.ts';
import type { ToolSource } from '../../src/tools/source.ts';
import { testParsers } from '../support/contract/parsers.ts';
import { callOf } from './support.ts';

let root: string;
let workspace: string;
let runner: PythonToolRunner;
let tools: ToolSource;
let web: Server;
let web_url: string;
let egress: ReturnType<typeof createGuardedFetch>;
const parsers = testParsers();
const none = new AbortController().signal;
const asked = (name: string, args: object) =>
  callOf(name, args, { run: { ...callOf(name).run, workspace: async () => workspace } });
const use = (name: string, args: object, signal = none) => tools.call(asked(name, args), signal);

const PAGE = `<html><head><title>T</title><style>x{}</style><script>evil()</script></head><body><nav>menu</nav>
<h1>Heading</h1><p>Some <b>readable</b> text, <a href="https://example.org/a">a link</a>.</p></body></html>`;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'perdura-builtin-'));
  await chmod(root, 0o755);
  workspace = join(root, 'task');
  await mkdir(workspace);
  runner = await startToolRunner({ workspaces: root });
  web = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x');
    if (pathname === '/search') {
      const query = searchParams.get('q');
      if (query === 'refused') return response.writeHead(403).end('{"results": []}');
      if (query === 'nonsense') return response.end('<html>');
      const one = { title: `About ${query}`, url: 'https://example.org', content: 'An excerpt' };
      const count = searchParams.get('format') === 'json' ? Number(/^(\d+) of/.exec(query ?? '')?.[1] ?? 1) : 0;
      return response.end(JSON.stringify({ results: Array(count).fill(one) }));
    }
    if (pathname === '/redirect') return response.writeHead(302, { location: 'http://127.0.0.2:1/' }).end();
    if (pathname === '/image') return response.writeHead(200, { 'content-type': 'image/png' }).end('x');
    if (pathname === '/long') return response.writeHead(200, { 'content-type': 'text/plain' }).end('0123456789'.repeat(11_000));
    const status = Number(/^\/status\/(\d+)$/.exec(pathname)?.[1] ?? 200);
    if (searchParams.has('empty')) return response.writeHead(status, { 'content-type': 'text/plain' }).end();
    return response.writeHead(status, { 'content-type': 'text/html' }).end(PAGE);
  }).listen(0, '127.0.0.1');
  await once(web, 'listening');
  web_url = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  egress = createGuardedFetch(['127.0.0.1']);
  tools = createBuiltinTools(
    {
      ...{ runner, startConfined: runner.startConfined, bash_network: false, fetch: egress.fetch, readPage: parsers.readPage },
      searchFetch: fetch,
      search_url: `${web_url}/search`,
      storeMemory: async () => {},
      searchMemory: async () => [],
      searchKnowledge: async () => ({ items: [], warnings: [] }),
    },
    builtinSpecs().map(({ name }) => name),
  );
});
afterAll(async () => {
  await parsers.close();
  await runner.close();
  await egress.close();
  web.closeAllConnections();
  web.close();
  await rm(root, { recursive: true, force: true });
});

describe('files', () => {
  it('are written, read with line numbers, and edited at one place', async () => {
    expect(await use('write', { file_path: 'src/a.txt', content: 'one\ntwo\ntwo\n' })).toEqual({
      content: 'Created src/a.txt (12 bytes)',
      failed: false,
    });
    expect((await use('read', { file_path: 'src/a.txt', offset: 2, limit: 1 })).content).toBe(
      '     2\ttwo\n[more lines follow; read on with offset 3]',
    );
    expect(await use('edit', { file_path: 'src/a.txt', old_string: 'two', new_string: '2' })).toMatchObject({
      content: expect.stringContaining('found 2 times'),
      failed: true,
    });
    expect(await use('edit', { file_path: 'src/a.txt', old_string: 'two', new_string: '2', replace_all: true })).toMatchObject({
      failed: false,
    });
    expect(await readFile(join(workspace, 'src/a.txt'), 'utf8')).toBe('one\n2\n2\n');
    expect(await use('edit', { file_path: 'src/a.txt', old_string: 'three', new_string: '3' })).toMatchObject({ failed: true });
  });

  it('outside the workspace are out of reach, by any path', async () => {
    await writeFile(join(root, 'secret.txt'), 'secret');
    await symlink(join(root, 'secret.txt'), join(workspace, 'link'));
    for (const file_path of ['../secret.txt', '/etc/passwd', 'link', join(root, 'secret.txt')]) {
      expect(await use('read', { file_path })).toMatchObject({ failed: true });
      expect(await use('write', { file_path, content: 'x' })).toMatchObject({ failed: true });
    }
    expect(await readFile(join(root, 'secret.txt'), 'utf8')).toBe('secret');
  });

  it('that cannot be read are reported', async () => {
    await writeFile(join(workspace, 'binary'), Buffer.from([1, 0, 2]));
    expect((await use('read', { file_path: 'binary' })).content).toMatch(/not a text file/);
    expect((await use('read', { file_path: 'no-such' })).content).toMatch(/no file no-such/);
    expect((await use('read', { file_path: 'src' })).content).toMatch(/directory/);
    expect((await use('read', {})).failed).toBe(true);
  });

  it('are found by pattern, and searched', async () => {
    await use('write', { file_path: 'lib/deep/x.py', content: 'import os\n\ndef f():\n    return TODO\n' });
    await use('write', { file_path: 'lib/y.js', content: 'todo\n' });
    expect((await use('glob', { pattern: '**/*.{py,js}' })).content.split('\n').sort()).toEqual(['lib/deep/x.py', 'lib/y.js']);
    expect((await use('glob', { pattern: '*.py', path: 'lib' })).content).toBe('No file matches');
    expect((await use('grep', { pattern: 'todo', '-i': true, path: 'lib' })).content.split('\n').sort()).toEqual([
      'lib/deep/x.py',
      'lib/y.js',
    ]);
    expect((await use('grep', { pattern: 'return', glob: '*.py', output_mode: 'content', '-C': 1 })).content).toBe(
      'lib/deep/x.py-3-def f():\nlib/deep/x.py:4:    return TODO\nlib/deep/x.py-5-',
    );
    const around = { pattern: 'def', glob: '*.py', output_mode: 'content', '-C': 1 };
    expect((await use('grep', { ...around, '-A': 0 })).content).toBe('lib/deep/x.py-2-\nlib/deep/x.py:3:def f():');
    expect((await use('grep', { ...around, '-B': 0 })).content).toBe('lib/deep/x.py:3:def f():\nlib/deep/x.py-4-    return TODO');
    expect((await use('grep', { pattern: '(' })).content).toMatch(/not a valid regular expression/);
    expect((await use('grep', { pattern: 'zzz' })).content).toBe('No match');
  });
});

/** Writes files of these contents, each a minute newer than the one before it. */
async function plant(folder: string, files: Record<string, string>): Promise<void> {
  await rm(join(workspace, folder), { recursive: true, force: true });
  for (const [at, [name, content]] of Object.entries(files).entries()) {
    const path = join(workspace, folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    // Tools run as another user.
    await chmod(path, 0o666);
    await utimes(path, 1_700_000_000 + at * 60, 1_700_000_000 + at * 60);
  }
}

describe('a search in files', () => {
  const FILES = {
    'b/old.txt': 'needle one\nhay\nneedle two\n',
    'a/mid.txt': 'Needle\r\nhay\r\n',
    'c/new.md': 'hay\nneedle needle\nlast\n',
    '.git/config': 'needle of git\n',
    binary: 'needle\0\n',
  };
  const search = async (name: string, args: object) => (await use(name, { path: 'found', ...args })).content;

  it('lists what was changed last first, and nothing of version control', async () => {
    await plant('found', FILES);
    expect(await search('glob', { pattern: '**/*.{txt,md}' })).toBe('found/c/new.md\nfound/a/mid.txt\nfound/b/old.txt');
    expect(await search('glob', { pattern: '?/[!no]*' })).toBe('found/a/mid.txt');
    expect(await search('glob', { pattern: '[ab]/*' })).toBe('found/a/mid.txt\nfound/b/old.txt');
    expect(await search('glob', { pattern: '**/config' })).toBe('No file matches');
    expect(await use('glob', { pattern: '*', path: 'found/binary' })).toMatchObject({ failed: true });
  });

  it('lists 200 files, and says how many more there are', async () => {
    await plant('many', Object.fromEntries(Array.from({ length: 203 }, (_, at) => [`${at}.txt`, ''])));
    const lines = (await use('glob', { pattern: '*', path: 'many' })).content.split('\n');
    expect([lines.length, lines[0], lines[199], lines.at(-1)]).toEqual([
      ...[201, 'many/202.txt', 'many/3.txt', '[3 more; use a narrower pattern]'],
    ]);
  });

  it.each([
    [{}, 'found/b/old.txt\nfound/c/new.md'],
    [{ '-i': true }, 'found/a/mid.txt\nfound/b/old.txt\nfound/c/new.md'],
    [{ output_mode: 'count' }, 'found/b/old.txt:2\nfound/c/new.md:2'],
    [{ output_mode: 'content' }, 'found/b/old.txt:1:needle one\nfound/b/old.txt:3:needle two\nfound/c/new.md:2:needle needle'],
    [{ output_mode: 'content', '-n': false, glob: '*.md' }, 'found/c/new.md:needle needle'],
    [{ output_mode: 'content', '-i': true, glob: 'a/*.txt' }, 'found/a/mid.txt:1:Needle'],
    [{ pattern: 'one$', output_mode: 'content', '-A': 1 }, 'found/b/old.txt:1:needle one\nfound/b/old.txt-2-hay'],
    [{ pattern: 'two', output_mode: 'content', '-B': 1 }, 'found/b/old.txt-2-hay\nfound/b/old.txt:3:needle two'],
    [
      { pattern: 'last|one', output_mode: 'count', head_limit: 1 },
      'found/b/old.txt:1\n[more follows; the limit of 1 lines is reached]',
    ],
    [
      { output_mode: 'content', head_limit: 3 },
      'found/b/old.txt:1:needle one\nfound/b/old.txt:3:needle two\nfound/c/new.md:2:needle needle',
    ],
    [{ head_limit: 2 }, 'found/b/old.txt\nfound/c/new.md'],
    [{ pattern: 'one.hay', multiline: true }, 'found/b/old.txt'],
    [{ pattern: 'one.hay' }, 'No match'],
    [{ path: 'found/c/new.md', output_mode: 'count' }, 'found/c/new.md:2'],
  ])('finds lines with %j', async (args, content) => {
    await plant('found', FILES);
    expect(await search('grep', { pattern: 'needle', ...args })).toBe(content);
  });

  it('separates what is not next to each other', async () => {
    await plant('found', { 'x.txt': 'a\nb\nc\nd\ne\n' });
    const found = await search('grep', { pattern: 'a|e', output_mode: 'content', '-C': 1 });
    expect(found.split('\n').map((line) => line.slice(-1))).toEqual(['a', 'b', '-', 'd', 'e', '-']);
  });
});

describe('a file', () => {
  it('is read from a line on, in parts, with long lines cut, and says where it ends', async () => {
    const lines = Array.from({ length: 2_003 }, (_, at) => `line ${at + 1}`);
    await plant('long', { 'a.txt': lines.join('\n'), 'wide.txt': 'x'.repeat(2_003), 'none.txt': '', 'crlf.txt': 'a\r\nb\r\n' });
    const read = async (file: string, args: object = {}) => (await use('read', { file_path: `long/${file}`, ...args })).content;
    const whole = (await read('a.txt')).split('\n');
    expect([whole.length, whole[1_999], whole.at(-1)]).toEqual([
      ...[2_001, '  2000\tline 2000', '[more lines follow; read on with offset 2001]'],
    ]);
    expect(await read('a.txt', { offset: 2_002 })).toBe('  2002\tline 2002\n  2003\tline 2003');
    expect(await read('a.txt', { offset: 2_004 })).toBe('[the file has only 2003 lines]');
    expect(await read('wide.txt')).toBe(`     1\t${'x'.repeat(2_000)} [line cut]`);
    expect(await read('none.txt')).toBe('[the file is empty]');
    expect(await read('crlf.txt')).toBe('     1\ta\n     2\tb');
  });

  it('is replaced as a whole, and says how large it is in bytes', async () => {
    await plant('whole', { 'a.txt': 'a longer text than before' });
    expect(await use('write', { file_path: 'whole/a.txt', content: 'größer' })).toEqual({
      ...{ content: 'Replaced whole/a.txt (8 bytes)', failed: false },
    });
    expect(await readFile(join(workspace, 'whole/a.txt'), 'utf8')).toBe('größer');
  });

  it('keeps its line breaks and everything else when a part of it is edited', async () => {
    await plant('edited', { 'a.txt': 'one\r\ntwo\r\nthree, two' });
    const edit = (args: object) => use('edit', { file_path: 'edited/a.txt', old_string: 'one', new_string: '1', ...args });
    expect(await edit({})).toEqual({ content: 'Edited edited/a.txt (1 place)', failed: false });
    expect(await edit({ old_string: 'two', new_string: '2', replace_all: true })).toMatchObject({
      content: 'Edited edited/a.txt (2 places)',
    });
    expect(await readFile(join(workspace, 'edited/a.txt'), 'utf8')).toBe('1\r\n2\r\nthree, 2');
    for (const [args, words] of [
      [{ old_string: '1', new_string: '1' }, 'are the same'],
      [{ old_string: '' }, 'old_string is empty'],
      [{ file_path: 'edited/b.txt' }, 'There is no file edited/b.txt'],
    ] as const)
      expect(await edit(args)).toEqual({ content: expect.stringContaining(words), failed: true });
  });
});

describe('bash', () => {
  it('runs in the workspace and returns its output and its exit code', async () => {
    expect(await use('bash', { command: 'echo hi > f && cat f && echo oops >&2' })).toEqual({
      content: 'hi\noops',
      failed: false,
    });
    expect(await use('bash', { command: 'echo no; exit 3' })).toEqual({ content: 'no\n[exit code 3]', failed: true });
    expect(await use('read', { file_path: 'f' })).toMatchObject({ content: '     1\thi' });
  });

  it('is ended with all it started at its time limit', async () => {
    expect(await use('bash', { command: 'echo begun; sleep 60 & sleep 60', timeout: 500 })).toEqual({
      content: 'begun\n[ended after 500 ms: the time limit]',
      failed: true,
    });
  });

  it('is ended by a halt', async () => {
    const halt = new AbortController();
    setTimeout(() => halt.abort(new Error('halted')), 300);
    await expect(use('bash', { command: 'sleep 60' }, halt.signal)).rejects.toThrow('halted');
  });

  it('is given its workspace, the key of its call, and the network only if the installation allows it', async () => {
    const started: any[] = [];
    const startConfined: typeof runner.startConfined = async (command) => {
      started.push(command);
      throw new Error('not here');
    };
    for (const bash_network of [true, false]) {
      const bash = bashTool.create({ startConfined, bash_network });
      expect(await bash(asked('bash', { command: 'true' }), none)).toEqual({
        ...{ content: 'The command could not be run: not here', failed: true },
      });
      expect(await bash(asked('bash', { command: ' ' }), none)).toEqual({ content: 'command must be a text', failed: true });
    }
    expect(started.map(({ network }) => network)).toEqual([true, false]);
    expect(started[0]).toMatchObject({ workspace, env: { PERDURA_CALL_KEY: asked('bash', {}).call_key } });
  });

  it("returns the output even if the command's exit is reported first", async () => {
    const startConfined: typeof runner.startConfined = async (...wanted) => {
      const child = await runner.startConfined(...wanted);
      const stdout = new PassThrough();
      void child.exit.then(() => setTimeout(() => child.stdout.pipe(stdout), 50));
      return { ...child, stdout };
    };
    const call = asked('bash', { command: 'echo 42' });
    expect(await bashTool.create({ startConfined, bash_network: false })(call, none)).toEqual({ content: '42', failed: false });
  });

  it('keeps the beginning and the end of much output', async () => {
    const { content } = await use('bash', { command: 'echo first; head -c 3000000 /dev/zero | tr "\\0" x; echo; echo last' });
    expect(content.length).toBeLessThan(60_000);
    expect(content).toMatch(/^first\n[\s\S]*characters left out[\s\S]*last$/);
  });

  it('sees nothing of the service', async () => {
    expect((await use('bash', { command: 'env' })).content).not.toMatch(/VITEST|ENCRYPTION|DATABASE/);
    expect((await use('bash', { command: 'curl -s -m 2 https://example.org || echo unreachable' })).content).toMatch(
      /unreachable/,
    );
  });
});

describe('the web', () => {
  it('is fetched as readable text', async () => {
    const { content, failed } = await use('web_fetch', { url: `${web_url}/page` });
    expect(failed).toBe(false);
    expect(content).toMatch(/HEADING[\s\S]*Some readable text, a link \[https:\/\/example.org\/a\]/);
    expect(content).not.toMatch(/evil|menu/);
  });

  it.each([200, 203, 206, 299])('is fetched if the server answers %i', async (status) => {
    const { content, failed } = await use('web_fetch', { url: `${web_url}/status/${status}` });
    expect({ content, failed }).toEqual({ content: expect.stringMatching(/^T?\s*HEADING/), failed: false });
    const empty = await use('web_fetch', { url: `${web_url}/status/${status}?empty` });
    expect(empty).toEqual({ content: '(empty)', failed: false });
  });

  it.each([
    [300, 'Multiple Choices'],
    [400, 'Bad Request'],
    [401, 'Unauthorized'],
    [403, 'Forbidden'],
    [404, 'Not Found'],
    [408, 'Request Timeout'],
    [410, 'Gone'],
    [429, 'Too Many Requests'],
    [500, 'Internal Server Error'],
    [502, 'Bad Gateway'],
    [503, 'Service Unavailable'],
    [504, 'Gateway Timeout'],
    [599, 'unknown'],
  ])('fails with the status and the text of the page if the server answers %i', async (status, words) => {
    const { content, failed } = await use('web_fetch', { url: `${web_url}/status/${status}` });
    expect(failed).toBe(true);
    expect(content).toMatch(new RegExp(`^The server answered ${status} ${words}\\n[\\s\\S]*Some readable text`));
    const empty = await use('web_fetch', { url: `${web_url}/status/${status}?empty` });
    expect(empty).toEqual({ content: `The server answered ${status} ${words}`, failed: true });
  });

  it('comes in parts where it is long', async () => {
    const part = async (offset?: number) => (await use('web_fetch', { url: `${web_url}/long`, offset })).content;
    expect(await part()).toMatch(/\[60000 more characters; continue with offset 50000\]$/);
    expect(await part(50_000)).toMatch(/\[10000 more characters; continue with offset 100000\]$/);
    expect(await part(100_000)).toHaveLength(10_000);
  });

  it('is refused where it is not public, by redirects too, or not text', async () => {
    for (const url of [
      'http://169.254.169.254/latest',
      `${web_url}/redirect`,
      `${web_url}/image`,
      'file:///etc/passwd',
      'no url',
    ])
      expect(await use('web_fetch', { url }), url).toMatchObject({ failed: true });
  });

  it.each([
    [undefined, 8],
    [3, 3],
    [20, 20],
    [21, 20],
    [0, 8],
    [-1, 8],
  ])('is searched for %s results at a time: %i', async (limit, count) => {
    const { content } = await use('web_search', { query: '23 of a & b?', ...(limit === undefined ? {} : { limit }) });
    expect(content.split('\n\n').map((result) => result.split('\n')[0])).toEqual(
      Array.from({ length: count }, (_, at) => `${at + 1}. About 23 of a & b?`),
    );
  });

  it.each([
    ['0 of these', { content: 'Nothing was found', failed: false }],
    ['refused', { content: 'The search endpoint answered 403', failed: true }],
    ['nonsense', { content: 'The search endpoint failed: it is not valid JSON', failed: true }],
    ['  ', { content: 'query must be a text', failed: true }],
  ])('is searched for %j', async (query, outcome) => {
    expect(await use('web_search', { query })).toEqual(outcome);
  });

  it('is searched at the endpoint of the operator', async () => {
    expect(await use('web_search', { query: 'cats' })).toEqual({
      content: '1. About cats\nhttps://example.org\nAn excerpt',
      failed: false,
    });
  });
});

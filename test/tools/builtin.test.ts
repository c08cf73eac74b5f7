import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
      const results = [{ title: `About ${searchParams.get('q')}`, url: 'https://example.org', content: 'An excerpt' }];
      return response.end(JSON.stringify({ results }));
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

  it('is searched at the endpoint of the operator', async () => {
    expect(await use('web_search', { query: 'cats' })).toEqual({
      content: '1. About cats\nhttps://example.org\nAn excerpt',
      failed: false,
    });
  });
});

import { execFile, spawn } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clientOf } from '../support/client.ts';
import { folderOfRun } from '../support/harness/run-mark.ts';
import type { Ready } from '../support/machine/npm-start.ts';
import { type Child, childOf, freePort } from '../support/machine/processes.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

let folder: string;
let installed: Child | null = null;
beforeAll(async () => {
  folder = await folderOfRun('perdura-package-');
});
afterAll(async () => {
  await installed?.end('SIGINT');
  await rm(folder, { recursive: true, force: true });
});

const inFolder = (file: string, args: string[]) => run(file, args, { cwd: folder, maxBuffer: 16 * 1024 * 1024 });

it('runs from the package alone: packed, installed into an empty folder, started', { timeout: 420_000 }, async () => {
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT });
  const tarball = stdout.trim().split('\n').at(-1)!;
  const { stdout: listed } = await inFolder('tar', ['tzf', tarball]);
  const names = listed.trim().split('\n');
  expect(names.filter((name) => /\.tsx?$|\.pyc$|\/test\/|\/bench\//.test(name))).toEqual([]);
  await writeFile(join(folder, 'package.json'), '{"private": true}');
  await inFolder('npm', ['install', '--no-audit', '--no-fund', '--omit=dev', `./${tarball}`]);
  expect((await inFolder('npx', ['perdura', '--version'])).stdout).toBe(
    `${JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')).version}\n`,
  );

  const home = join(folder, 'home');
  await mkdir(home);
  const env = { ...process.env, PERDURA_HOME: home, PERDURA_PORT: String(await freePort()), OPENAI_API_KEY: '' };
  const command = join(folder, 'node_modules/.bin/perdura');
  installed = childOf(spawn(command, ['dev'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] }));
  await installed.prints(/Perdura is ready/, 180_000);
  const ready: Ready = JSON.parse(await readFile(join(home, 'ready.json'), 'utf8'));
  expect(ready.api_url).toBe(`http://127.0.0.1:${env.PERDURA_PORT}`);
  expect(await (await fetch(ready.dashboard_url)).text()).toContain('<div id="root">');
  expect((await fetch(`${ready.dashboard_url}-legacy`)).status).toBe(200);

  const demo = childOf(spawn(command, ['demo'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] }));
  await demo.prints(/status {5}completed/, 120_000);
  expect(demo.output()).toMatch(/"words": 6/);

  // A process of the parser pool, and a bundled tool.
  const client = clientOf(ready.api_url, (await readFile(ready.token_file, 'utf8')).trim());
  const { id } = await client.ok(client.post('/api/knowledge-sources', { name: 'pages' }), 201);
  const form = new FormData();
  form.set('file', new File(['<h1>Title</h1><p>A page of <b>HTML</b>.</p>'], 'page.html', { type: 'text/html' }));
  form.set('source_id', id);
  expect(await client.send('POST', '/api/knowledge-items/upload', { body: form })).toMatchObject({ status: 201 });
  const tools = await client.ok(client.get('/api/custom-tools'));
  expect(tools.map(({ name }: { name: string }) => name)).toContain('calculate');

  expect(await installed.end('SIGINT')).toBe(0);
  installed = null;
  expect((await readdir(join(folder, 'node_modules/perdura'))).sort()).not.toContain('.perdura');
});

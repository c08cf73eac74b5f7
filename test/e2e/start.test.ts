import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { listeningSockets } from '../support/listening-sockets.ts';
import { type Child, childOf } from '../support/processes.ts';
import { rawRequest } from '../support/raw-request.ts';
import { until } from '../support/until.ts';

const SAMPLE = 'Sample: count words';
const ROOT = resolve(import.meta.dirname, '../..');

interface Ready {
  api_url: string;
  dashboard_url: string;
  docs_url: string;
  temporal_ui_url: string;
  demo_model_url: string;
  token_file: string;
  pids: Record<string, number>;
}

const running: Child[] = [];
const folders: string[] = [];

afterEach(async () => {
  for (const child of running.splice(0)) await child.end('SIGINT');
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'perdura-e2e-'));
  folders.push(home);
  return home;
}

const command = (home: string, name: string) =>
  childOf(
    spawn(process.execPath, [join(ROOT, 'bin/perdura.mjs'), name], {
      cwd: ROOT,
      env: { ...process.env, PERDURA_HOME: home, PERDURA_READY_FILE: join(home, 'ready.json'), OPENAI_API_KEY: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );

/** Runs `npm start` until it reports that it is ready. */
async function start(home: string): Promise<{ child: Child; ready: Ready }> {
  const child = command(home, 'dev');
  running.push(child);
  await child.prints(/Perdura is ready/, 90_000);
  return { child, ready: JSON.parse(await readFile(join(home, 'ready.json'), 'utf8')) };
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** The commands under "By hand" in the README, for this installation. */
async function readmeCommands({ api_url, token_file }: Ready): Promise<string> {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  const [, commands] = /### By hand\n+```sh\n([\s\S]*?)```/.exec(readme)!;
  return commands!.replaceAll('.perdura/local-token', token_file).replaceAll('http://127.0.0.1:8080', api_url);
}

/** Occupies the port of the demo model, so that it starts on another one. */
async function occupy(url: string): Promise<Server> {
  const server = createServer();
  server.listen(Number(new URL(url).port), '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const titles = async ({ api_url, token_file }: Ready) => {
  const token = (await readFile(token_file, 'utf8')).trim();
  const answer = await fetch(`${api_url}/api/workflows`, { headers: { authorization: `Bearer ${token}` } });
  return ((await answer.json()) as { title: string }[]).map(({ title }) => title);
};

/** URLs of the installation, found by looking at its ports, that answer a page whose host name was rebound to this machine's address. */
async function answeringForeignNames({ pids }: Ready): Promise<string[]> {
  const sockets = (await Promise.all([...new Set(Object.values(pids))].map(listeningSockets))).flat();
  // Temporal's web interface listens on a separate loopback address, which a page cannot find; its guard listens on 127.0.0.1.
  const open = sockets.filter(({ address }) => address === '127.0.0.1' || !address.startsWith('127.'));
  expect(open.length).toBeGreaterThan(5);
  const paths = ['/', '/health/live', '/v1/models', '/api/v1/namespaces', '/openapi.json'];
  const probes = open.flatMap(({ address, port }) => paths.map((path) => `http://${address}:${port}${path}`));
  const replies = await Promise.all(
    probes.map(async (url) => ({ url, ...(await rawRequest(url, { headers: { host: 'rebound.example' } })) })),
  );
  return replies.filter(({ status }) => status >= 200 && status < 400).map(({ url, status }) => `${url} ${status}`);
}

it('starts with one command, runs the demo, stops everything it started, and finds its data again', async () => {
  const home = await newHome();
  const { child, ready } = await start(home);
  expect((await stat(ready.token_file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(home, 'ready.json'))).mode & 0o777).toBe(0o600);
  expect((await fetch(ready.docs_url)).status).toBe(200);
  const authorization = `Bearer ${(await readFile(ready.token_file, 'utf8')).trim()}`;
  expect(await (await fetch(`${ready.api_url}/api/me`, { headers: { authorization } })).json()).toMatchObject({ is_admin: true });
  expect((await fetch(`${ready.dashboard_url}-legacy`)).status).toBe(200);
  expect((await fetch(ready.temporal_ui_url)).status).toBe(200);
  if (process.platform === 'linux') expect(await answeringForeignNames(ready)).toEqual([]);

  const demo = command(home, 'demo');
  await demo.prints(/status {5}completed/, 60_000);
  expect(demo.output()).toMatch(/tool_call: word_count/);
  expect(demo.output()).toMatch(/"words": 6/);

  const shell = childOf(spawn('bash', ['-euc', await readmeCommands(ready)], { stdio: ['ignore', 'pipe', 'pipe'] }));
  running.push(shell);
  await shell.prints(/The tool add answered: [^\n]*42[\s\S]*"status":"completed"/, 60_000);

  running.splice(running.indexOf(child), 1);
  expect(await child.end('SIGINT')).toBe(0);
  await expect.poll(() => Object.values(ready.pids).filter(isAlive)).toEqual([]);
  await expect(stat(join(home, 'ready.json'))).rejects.toThrow();

  const other = await occupy(ready.demo_model_url);
  try {
    const again = await start(home);
    expect(again.ready.demo_model_url).not.toBe(ready.demo_model_url);
    expect(await titles(again.ready)).toEqual([null, SAMPLE]);
    // The sample's provider now points to the new port of the demo model.
    const demo = command(home, 'demo');
    await demo.prints(/status {5}completed/, 60_000);
  } finally {
    other.close();
  }
}, 300_000);

it('restarts with its data after a kill -9 of itself or of any server', async () => {
  const home = await newHome();
  const first = await start(home);
  const demo = command(home, 'demo');
  await demo.prints(/status {5}completed/, 60_000);

  process.kill(first.ready.pids.api!, 'SIGKILL');
  running.splice(running.indexOf(first.child), 1);
  await first.child.end('SIGKILL');
  const second = await start(home);
  expect(await titles(second.ready)).toEqual([SAMPLE]);

  for (const server of ['postgres', 'temporal']) process.kill(second.ready.pids[server]!, 'SIGKILL');
  running.splice(running.indexOf(second.child), 1);
  await wait(500);
  await second.child.end('SIGINT');
  const third = await start(home);
  expect(await titles(third.ready)).toEqual([SAMPLE]);
}, 240_000);

it('restarts its own Postgres and Temporal when they are killed, and continues', async () => {
  const home = await newHome();
  const { child, ready } = await start(home);
  for (const server of ['postgres', 'temporal']) process.kill(ready.pids[server]!, 'SIGKILL');
  await child.prints(/Postgres has died; restarting it/);
  await child.prints(/Temporal has died; restarting it/);
  const readyNow = async () => JSON.parse(await readFile(join(home, 'ready.json'), 'utf8')) as Ready;
  await until(
    'both have new processes',
    async () => {
      const { pids } = await readyNow();
      return pids.postgres !== ready.pids.postgres && pids.temporal !== ready.pids.temporal;
    },
    60_000,
  );
  expect({ ...(await readyNow()), pids: null }).toEqual({ ...ready, pids: null });
  await until('it is ready', async () => (await fetch(`${ready.api_url}/health/ready`)).ok, 60_000);
  await command(home, 'demo').prints(/status {5}completed/, 60_000);
  const { pids } = await readyNow();
  running.splice(running.indexOf(child), 1);
  expect(await child.end('SIGINT')).toBe(0);
  await expect.poll(() => Object.values(pids).filter(isAlive)).toEqual([]);
}, 240_000);

it('runs two installations side by side, and refuses a second one in the same home', async () => {
  const [one, two] = [await newHome(), await newHome()];
  const first = await start(one);
  const second = await start(two);
  expect(first.ready.api_url).not.toBe(second.ready.api_url);
  expect((await fetch(`${second.ready.api_url}/health/ready`)).status).toBe(200);
  const again = command(one, 'dev');
  await expect(again.prints(/Perdura is ready/)).rejects.toThrow(/already running/);
}, 240_000);

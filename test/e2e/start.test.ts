import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { type Child, childOf } from '../support/processes.ts';

const ROOT = resolve(import.meta.dirname, '../..');

interface Ready {
  api_url: string;
  dashboard_url: string;
  docs_url: string;
  temporal_ui_url: string;
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
      env: { ...process.env, PERDURA_HOME: home, PERDURA_READY_FILE: join(home, 'told.json'), OPENAI_API_KEY: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );

/** `npm start`, as far as its first line that says it is ready. */
async function start(home: string): Promise<{ child: Child; ready: Ready }> {
  const child = command(home, 'dev');
  running.push(child);
  await child.prints(/Perdura is ready/, 90_000);
  return { child, ready: JSON.parse(await readFile(join(home, 'told.json'), 'utf8')) };
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const titles = async ({ api_url, token_file }: Ready) => {
  const token = (await readFile(token_file, 'utf8')).trim();
  const answer = await fetch(`${api_url}/api/workflows`, { headers: { authorization: `Bearer ${token}` } });
  return ((await answer.json()) as { title: string }[]).map(({ title }) => title);
};

it('starts with one command, runs the demo, stops everything it started, and finds its data again', async () => {
  const home = await newHome();
  const { child, ready } = await start(home);
  expect((await stat(ready.token_file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(home, 'told.json'))).mode & 0o777).toBe(0o600);
  expect((await fetch(ready.docs_url)).status).toBe(200);
  expect((await fetch(`${ready.dashboard_url}-legacy`)).status).toBe(200);
  expect((await fetch(ready.temporal_ui_url)).status).toBe(200);

  const demo = command(home, 'demo');
  await demo.prints(/status {5}completed/, 60_000);
  expect(demo.output()).toMatch(/tool_call: word_count/);
  expect(demo.output()).toMatch(/"words": 6/);

  running.splice(running.indexOf(child), 1);
  expect(await child.end('SIGINT')).toBe(0);
  await expect.poll(() => Object.values(ready.pids).filter(isAlive)).toEqual([]);
  await expect(stat(join(home, 'told.json'))).rejects.toThrow();

  const again = await start(home);
  expect(await titles(again.ready)).toEqual(['Demo']);
}, 240_000);

it('starts after a kill -9 of itself or of any server, with its data', async () => {
  const home = await newHome();
  const first = await start(home);
  const demo = command(home, 'demo');
  await demo.prints(/status {5}completed/, 60_000);

  process.kill(first.ready.pids.api!, 'SIGKILL');
  running.splice(running.indexOf(first.child), 1);
  await first.child.end('SIGKILL');
  const second = await start(home);
  expect(await titles(second.ready)).toEqual(['Demo']);

  for (const server of ['postgres', 'temporal']) process.kill(second.ready.pids[server]!, 'SIGKILL');
  running.splice(running.indexOf(second.child), 1);
  await wait(500);
  await second.child.end('SIGINT');
  const third = await start(home);
  expect(await titles(third.ready)).toEqual(['Demo']);
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

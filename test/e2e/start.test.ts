import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join, resolve } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { rawRequest } from '../support/contract/raw-request.ts';
import { listeningSockets } from '../support/machine/listening-sockets.ts';
import { isAlive, npmStarts, type Ready, workflowTitles } from '../support/machine/npm-start.ts';
import { childOf } from '../support/machine/processes.ts';

const SAMPLE = 'Sample: count words';
const ROOT = resolve(import.meta.dirname, '../..');

const { newHome, command, start, keep, end, clear } = npmStarts();
afterEach(clear);

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
  keep(shell);
  await shell.prints(/The tool add answered: [^\n]*42[\s\S]*"status":"completed"/, 60_000);

  expect(await end(child)).toBe(0);
  await expect.poll(() => Object.values(ready.pids).filter(isAlive)).toEqual([]);
  await expect(stat(join(home, 'ready.json'))).rejects.toThrow();

  const other = await occupy(ready.demo_model_url);
  try {
    const again = await start(home);
    expect(again.ready.demo_model_url).not.toBe(ready.demo_model_url);
    expect(await workflowTitles(again.ready)).toEqual([null, SAMPLE]);
    // The sample's provider now points to the new port of the demo model.
    const demo = command(home, 'demo');
    await demo.prints(/status {5}completed/, 60_000);
  } finally {
    other.close();
  }
}, 300_000);

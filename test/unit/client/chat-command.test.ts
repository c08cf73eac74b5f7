import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { baseEnv } from '../../support/machine/processes.ts';

const CLI = resolve(import.meta.dirname, '../../../src/main/cli.ts');
const [AGENT, SESSION] = ['0198a3c4-5e17-7d2b-9c41-3f60a7b21e53', '0198a3c4-5e17-7d2b-9c41-3f60a7b21e59'];

let stop: () => unknown;
afterEach(() => stop());

/** Starts `perdura chat` with a service that answers messages in this way, and sends it one message. */
async function chat(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = { ...baseEnv(), PERDURA_API_URL: url, PERDURA_API_TOKEN: 'hunter2' };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CLI, 'chat', AGENT], { env, stdio: 'pipe' });
  stop = () => {
    child.kill('SIGKILL');
    server.closeAllConnections();
    server.close();
  };
  child.stdin.end('Hello?\n');
  const ended = new Promise<number | null>((done) => child.once('close', done));
  const outcome = Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { child, outcome };
}

const frame = (event: object) => `data: ${JSON.stringify(event)}\n\n`;
const BEGINNING = frame({ type: 'session', session_id: SESSION }) + frame({ type: 'delta', content: 'Half' });

it('a second Ctrl-C leaves a reply that the service does not end', async () => {
  const stopped = Promise.withResolvers<void>();
  const { child, outcome } = await chat((request, response) => {
    if (!request.url?.endsWith('/stop')) return response.writeHead(200).write(BEGINNING);
    response.writeHead(200).end('{}');
    return stopped.resolve();
  });
  child.stdout.once('data', () => child.kill('SIGINT'));
  await stopped.promise;
  child.kill('SIGINT');
  expect(await outcome).toEqual([130, 'Half', `To continue: perdura chat ${AGENT} --session ${SESSION}\n`]);
}, 30_000);

it('a reply that breaks off is a failure', async () => {
  const { outcome } = await chat((_, response) => response.writeHead(200).end(BEGINNING));
  expect(await outcome).toEqual([
    1,
    'Half',
    'perdura chat: The connection ended before the reply did; what was written of it is in the session\n',
  ]);
}, 30_000);

it('a refusal by a proxy, which is not JSON, is a sentence', async () => {
  const { outcome } = await chat((_, response) => response.writeHead(502).end('<html>'));
  expect(await outcome).toEqual([1, '', 'perdura chat: The message was refused: Bad Gateway (502)\n']);
}, 30_000);

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it, vi } from 'vitest';
import runChat from '../../../src/main/commands/chat.ts';
import { readConfig } from '../../../src/main/config.ts';
import { baseEnv } from '../../support/machine/processes.ts';

const CLI = resolve(import.meta.dirname, '../../../src/main/cli.ts');
const [AGENT, SESSION] = ['0198a3c4-5e17-7d2b-9c41-3f60a7b21e53', '0198a3c4-5e17-7d2b-9c41-3f60a7b21e59'];

let stop: () => unknown;
afterEach(() => stop());

interface Talk {
  options?: string[];
  /** What is piped into it; null: the test writes it. */
  input?: string | null;
  /** A program that starts the command. */
  starter?: string[];
}

/** Starts `perdura chat` with a service that answers messages in this way, and sends it one message. */
async function chat(answer: RequestListener, { options = [], input = 'Hello?\n', starter = [] }: Talk = {}) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = { ...baseEnv(), PERDURA_API_URL: url, PERDURA_API_TOKEN: 'hunter2' };
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', CLI, 'chat', AGENT, ...options];
  const [program, ...args] = [...starter, ...command] as [string, ...string[]];
  const child = spawn(program, args, { env, stdio: 'pipe' });
  stop = () => {
    child.kill('SIGKILL');
    server.closeAllConnections();
    server.close();
  };
  if (input !== null) child.stdin.end(input);
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

it('Ctrl-C stops a reply also if its session is not known yet', async () => {
  const asked: string[] = [];
  let reply: ServerResponse;
  const server = createServer((request, response) => {
    asked.push(request.url!);
    if (request.url!.endsWith('/stop')) {
      response.end('{}');
      return reply.end(frame({ type: 'done' }));
    }
    reply = response;
    // The others end the workers of other tests in this process.
    process.listeners('SIGINT').at(-1)!('SIGINT');
    return reply.writeHead(200).write(BEGINNING);
  }).listen(0, '127.0.0.1');
  stop = () => server.close();
  await once(server, 'listening');
  const PERDURA_API_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stdin = vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from(['Hello?\n']) as never);
  const [out, errors] = [process.stdout, process.stderr].map((stream) => vi.spyOn(stream, 'write').mockReturnValue(true));
  await runChat(readConfig({ PERDURA_API_URL, PERDURA_API_TOKEN: 'hunter2' }), [AGENT]).finally(() => {
    for (const spy of [stdin, out!, errors!]) spy.mockRestore();
  });
  expect(asked).toEqual([`/api/agents/${AGENT}/chat`, `/api/agents/${AGENT}/chat/sessions/${SESSION}/stop`]);
});

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

const FAILED = frame({ type: 'session', session_id: SESSION }) + frame({ type: 'error', message: 'The model is overloaded' });

it.each<[string, string[], string, string]>([
  ['people', [], '', '\nThe reply failed: The model is overloaded\n'],
  ['programs', ['--json'], FAILED.replaceAll(/data: |\n(?=\n)/g, ''), 'The model is overloaded\n'],
])(
  'a reply that fails is reported to %s, and ends the command with 1',
  async (_, options, out, errors) => {
    const { outcome } = await chat((__, response) => response.writeHead(200).end(FAILED), { options });
    expect(await outcome).toEqual([1, out, `${errors}To continue: perdura chat ${AGENT} --session ${SESSION}\n`]);
  },
  30_000,
);

it('names no session if nothing was sent', async () => {
  const { outcome } = await chat((_, response) => response.writeHead(500).end(), { input: ' \n\n' });
  expect(await outcome).toEqual([0, '', '']);
}, 30_000);

const TERMINAL = ['python3', '-c', 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'];
const REPLY =
  frame({ type: 'session', session_id: SESSION }) + frame({ type: 'delta', content: 'Seven.' }) + frame({ type: 'done' });

it('asks for messages in a terminal, until Ctrl-C ends the chat between replies', async () => {
  const { child, outcome } = await chat((_, response) => response.writeHead(200).end(REPLY), { input: null, starter: TERMINAL });
  let shown = '';
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk;
    if (/Seven\.\s+> $/.test(shown)) child.stdin.write('\u0003');
    else if (shown.endsWith('> ')) child.stdin.write('Hello?\r');
  });
  const [code, out] = await outcome;
  expect([code, out.replaceAll('\r', '').split('\n')]).toEqual([
    0,
    [
      'Write a message and press Enter. Ctrl-C stops a reply, and ends the chat between replies.',
      '> Hello?',
      'Seven.',
      `> To continue: perdura chat ${AGENT} --session ${SESSION}`,
      '',
    ],
  ]);
}, 30_000);

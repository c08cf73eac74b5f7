import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { discover } from '../../src/tools/mcp/discover.ts';
import { createMcpPool } from '../../src/tools/mcp/pool.ts';
import { createMcpTools } from '../../src/tools/mcp/tools.ts';
import { ToolUncertain, ToolUnreachable } from '../../src/tools/source.ts';
import { freePort } from '../support/machine/processes.ts';
import { testPython } from '../support/machine/python-venv.ts';
import { callOf, openToken, serverOf } from '../tools/support.ts';

const SERVER = fileURLToPath(new URL('mcp_server.py', import.meta.url));
const schemaFaults = async (schemas: readonly unknown[]) => schemas.map(() => null);
const pool = createMcpPool({ startConfined: null, schemaFaults, version: 'test' });
const ports = { pool, openConfig: async (server: ReturnType<typeof serverOf>) => server, openToken };
const never = () => new AbortController().signal;
let python: string;
const running: ChildProcess[] = [];

beforeAll(async () => {
  ({ python } = await testPython());
}, 300_000);
afterEach(async () => {
  for (const child of running.splice(0)) await end(child);
});
afterAll(() => pool.close());

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

async function start(port: number, manner: readonly string[]): Promise<ChildProcess> {
  const [transport = '', ...options] = manner;
  const child = spawn(python, [SERVER, transport, String(port), ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
  running.push(child);
  await new Promise<void>((resolve, reject) => {
    let printed = '';
    child.stderr?.on('data', (text: Buffer) => {
      printed += text;
      if (printed.includes('running on')) resolve();
    });
    child.once('exit', () => reject(new Error(`The server ended: ${printed}`)));
  });
  return child;
}

describe.each([
  ['streams its answers', ['streamable-http']],
  ['answers in JSON', ['streamable-http', 'json_response']],
  ['has no sessions', ['streamable-http', 'stateless_http']],
  ['speaks the older transport', ['sse']],
])('a server of the Python SDK that %s', (_what, manner) => {
  async function started() {
    const port = await freePort();
    const is_sse = manner[0] === 'sse';
    const url = `http://127.0.0.1:${port}/${is_sse ? 'sse' : 'mcp'}`;
    const server = serverOf({ name: 'fast', transport_type: is_sse ? 'sse' : 'http', connection_config: { url } });
    const child = await start(port, manner);
    const find = () => discover([server], { ...ports, openToken, principal: 'local:alice' }, never());
    const tools = createMcpTools(ports, server, (await find()).tools);
    const call = (name: string, args = {}, more = {}) => tools.call(callOf(name, args, more), never());
    return { child, find, call, restart: () => start(port, manner) };
  }

  it('has its results given once, and its image kept', async () => {
    const { call } = await started();
    expect(await call('number')).toEqual({ content: '5', failed: false });
    expect(await call('names')).toEqual({ content: 'a\nb', failed: false });
    expect((await call('rows')).content.replaceAll(/\s/g, '')).toBe('{"a":1}{"a":2}');
    expect(await call('picture')).toMatchObject({ files: [{ name: 'image-1.png', media_type: 'image/png' }] });
    expect((await call('wrong', { count: 'x' })).content).not.toContain('[{');
  });

  it('asks a person while a tool runs', async () => {
    const { call } = await started();
    const ask = async () => ({ action: 'accept' as const, content: { row: 7 } });
    // Without a session, a server cannot ask over a stream; it asks with its result.
    expect(await call('book', {}, { ask })).toEqual({ content: 'row 7', failed: false });
  });

  it('is asked and called again at once after a restart', async () => {
    const { child, find, call, restart } = await started();
    await end(child);
    const second = await restart();
    expect((await find()).tools.length).toBeGreaterThan(3);
    await end(second);
    await restart();
    expect(await call('number')).toEqual({ content: '5', failed: false });
  });

  it.each([
    ['read_and_die', ToolUnreachable],
    ['write_and_die', ToolUncertain],
  ])('is noticed at once if it dies in a call: %s', async (name, kind) => {
    const { call } = await started();
    const outcome = await call(name).catch((error: Error) => error);
    expect(outcome).toBeInstanceOf(kind);
    expect(outcome).toMatchObject({ message: expect.stringContaining('was lost while the tool ran') });
  });
});

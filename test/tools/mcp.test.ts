import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { discover } from '../../src/tools/mcp/discover.ts';
import { probeMcp } from '../../src/tools/mcp/probe.ts';
import { toMcpOutcome } from '../../src/tools/mcp/result.ts';
import { createMcpTools } from '../../src/tools/mcp/tools.ts';
import { ToolUncertain, ToolUnreachable } from '../../src/tools/source.ts';
import { freePort } from '../support/machine/processes.ts';
import { callOf, everything, type McpBench, MODULES, nodeServer, openMcpBench, openToken, SERVERS, serverOf } from './support.ts';

const PRINCIPAL = 'local:alice';
let bench: McpBench;
const signal = () => new AbortController().signal;
const odd = (manner: string, values: object = {}) => nodeServer(`${SERVERS}/odd.mjs`, { name: 'odd', args: [manner], ...values });
const found = (server: ReturnType<typeof odd>) =>
  discover([server], { ...bench.ports, openToken, principal: PRINCIPAL }, signal());
const toolsOf = async (server: ReturnType<typeof odd>) => createMcpTools(bench.ports, server, (await found(server)).tools);

beforeAll(async () => {
  bench = await openMcpBench();
});
afterAll(() => bench.close());

describe('the reference server "everything" over stdio', () => {
  it('is asked for its tools, and called', async () => {
    const tools = await toolsOf(everything());
    expect((await tools.list(signal())).map(({ name }) => name)).toContain('echo');
    expect(await tools.call(callOf('echo', { message: 'hi' }), signal())).toEqual({ content: 'Echo: hi', failed: false });
    expect(await tools.call(callOf('get-sum', { a: 'x' }), signal())).toMatchObject({ failed: true });
  });

  it('has images described and structured content given once', async () => {
    const tools = await toolsOf(everything());
    expect((await tools.call(callOf('get-tiny-image'), signal())).content).toMatch(
      /\[image, image-1\.png: image\/png, \d+ bytes\]/,
    );
    const { content } = await tools.call(callOf('get-structured-content', { location: 'Chicago' }), signal());
    expect(JSON.parse(content)).toMatchObject({ temperature: expect.any(Number) });
    expect((await tools.call(callOf('get-resource-links', { count: 2 }), signal())).content).toMatch(/\[resource .*demo:\/\//);
  });

  it('reports the progress of a long call, and ends the call on a halt', async () => {
    const tools = await toolsOf(everything());
    const progress: string[] = [];
    const halt = new AbortController();
    const call = callOf(
      'trigger-long-running-operation',
      { duration: 20, steps: 20 },
      { progress: (text) => progress.push(text) },
    );
    const running = tools.call(call, halt.signal);
    await expect.poll(() => progress.length).toBeGreaterThan(1);
    halt.abort(new Error('halted'));
    await expect(running).rejects.toThrow('halted');
    expect(progress[0]).toMatch(/of 20/);
  });

  it('offers only the tools of the allow list, and reports missing ones', async () => {
    const { tools, notes } = await found(everything({ allowed_tools: ['echo', 'no-such'] }));
    expect(tools.map(({ tool }) => tool)).toEqual(['echo']);
    expect(notes.at(-1)).toMatchObject({ event: 'mcp_error', detail: 'everything: It has no tool named no-such' });
  });
});

describe('a server over stdio that speaks', () => {
  const stateless = (manner: string) => nodeServer(`${SERVERS}/stateless.mjs`, { name: 'stateless', args: [manner] });

  it.each(['only', 'both'])(
    '%s the version without a handshake is called without one, and asks a person with its result',
    async (manner) => {
      const tools = await toolsOf(stateless(manner));
      expect(await tools.call(callOf('era'), signal())).toEqual({ content: 'modern', failed: false });
      const ask = async () => ({ action: 'accept' as const, content: { email: 'a@b.test' } });
      expect(await tools.call(callOf('book', {}, { ask }), signal())).toEqual({ content: '{"email":"a@b.test"}', failed: false });
    },
  );

  it('only that version, and starts slowly, is recognised by its late answer', async () => {
    const patient = await openMcpBench({ discover_ms: 100 });
    const server = stateless('late');
    const { tools } = await discover([server], { ...patient.ports, openToken, principal: PRINCIPAL }, signal());
    expect(await createMcpTools(patient.ports, server, tools).call(callOf('era'), signal())).toMatchObject({ content: 'modern' });
    await patient.close();
  });

  it.each(['ends', 'ignores'])(
    'only the handshake, and %s when it is asked for something else, is called with a handshake',
    async (manner) => {
      const quick = await openMcpBench({ discover_ms: 500 });
      const { tools } = await discover([odd(manner)], { ...quick.ports, openToken, principal: PRINCIPAL }, signal());
      expect(tools.map(({ tool }) => tool)).toContain('key');
      await quick.close();
    },
  );
});

describe('the reference server "everything" over HTTP', () => {
  it.each([
    ['http', 'streamableHttp', '/mcp'],
    ['sse', 'sse', '/sse'],
    // The older transport, which the server's entry does not name.
    ['http', 'sse', '/sse'],
  ])('%s: a server that speaks %s is called, and found again after a restart', async (transport_type, mode, path) => {
    const port = await freePort();
    const server = serverOf({
      transport_type,
      name: mode,
      connection_config: { url: `http://127.0.0.1:${port}${path}`, headers: {} },
    });
    let stop = await everythingOver(mode, port);
    const tools = await toolsOf(server);
    expect(await tools.call(callOf('echo', { message: 'a' }), signal())).toMatchObject({ content: 'Echo: a' });
    await stop();
    await expect(tools.call(callOf('echo', { message: 'b' }), signal())).rejects.toThrow(ToolUnreachable);
    stop = await everythingOver(mode, port);
    await expect
      .poll(() => tools.call(callOf('echo', { message: 'c' }), signal()).catch(() => null), { interval: 500 })
      .toMatchObject({ content: 'Echo: c' });
    await stop();
  });
});

it('a server that knows neither transport is reported with what it answered to both', async () => {
  const asked: string[] = [];
  const nothing = createHttpServer((request, response) => {
    asked.push(request.method ?? '');
    response.writeHead(405).end();
  }).listen(0, '127.0.0.1');
  await once(nothing, 'listening');
  const url = `http://127.0.0.1:${(nothing.address() as AddressInfo).port}/mcp`;
  const { notes } = await found(serverOf({ name: 'nothing', transport_type: 'http', connection_config: { url } }));
  expect(notes[0]?.detail).toMatch(
    /^The MCP server nothing cannot be reached: it answered 405 to streamable HTTP, and to the older transport: .*405/,
  );
  expect(asked).toEqual(['POST', 'POST', 'GET']);
  nothing.closeAllConnections();
  nothing.close();
});

describe('the reference server "filesystem"', () => {
  it('reads and writes the directory it was given, and no other', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'perdura-mcp-'));
    await mkdir(join(dir, 'shared'), { mode: 0o777 });
    await writeFile(join(dir, 'shared', 'a.txt'), 'hello');
    const shared = join(dir, 'shared');
    const file = `${MODULES}/@modelcontextprotocol/server-filesystem/dist/index.js`;
    const server = nodeServer(file, { name: 'files', args: [shared], paths: [MODULES, process.execPath, `${shared}:rw`] });
    const tools = await toolsOf(server);
    expect(await tools.call(callOf('read_text_file', { path: join(shared, 'a.txt') }), signal())).toMatchObject({
      content: 'hello',
    });
    expect(await tools.call(callOf('read_text_file', { path: '/etc/hostname' }), signal())).toMatchObject({ failed: true });
    await rm(dir, { recursive: true });
  });
});

describe('a server that remembers', () => {
  const remember = (tools: Awaited<ReturnType<typeof toolsOf>>, owner: string, word: string) =>
    tools.call({ ...callOf('remember', { word }), run: { ...callOf('').run, owner } }, signal());

  it('over stdio has a process for each principal', async () => {
    const tools = await toolsOf(odd('remembers'));
    expect(await remember(tools, 'local:alice', 'her secret')).toEqual({ content: '[]', failed: false });
    expect(await remember(tools, 'local:bob', 'his secret')).toEqual({ content: '[]', failed: false });
    expect((await remember(tools, 'local:alice', 'more')).content).toBe('["her secret"]');
    expect((await remember(tools, 'local:bob', 'more')).content).toBe('["his secret"]');
  });

  it('over HTTP has a session for each principal', async () => {
    const sessions: (string | undefined)[] = [];
    const answering = await sessionServer(sessions);
    const url = `http://127.0.0.1:${(answering.address() as AddressInfo).port}/mcp`;
    const tools = await toolsOf(serverOf({ name: 'sessions', transport_type: 'http', connection_config: { url } }));
    for (const owner of ['local:alice', 'local:bob', 'local:alice', 'local:bob']) await remember(tools, owner, '');
    const [alices, bobs] = sessions;
    expect(alices).not.toBe(bobs);
    expect(sessions).toEqual([alices, bobs, alices, bobs]);
    answering.closeAllConnections();
    answering.close();
  });

  it('is closed early when too many principals have left connections behind', async () => {
    const quick = await openMcpBench();
    const sessions: (string | undefined)[] = [];
    const ended: string[] = [];
    const answering = await sessionServer(sessions, ended);
    const url = `http://127.0.0.1:${(answering.address() as AddressInfo).port}/mcp`;
    const target = { id: 'x', name: 'many', network: false, paths: [], endpoint: { kind: 'http' as const, url, headers: {} } };
    for (let number = 0; number < 66; number += 1)
      await quick.pool.use({ target, principal: `local:${number}` }, (it) => it.list(signal()), signal());
    await expect.poll(() => ended.length).toBe(2);
    await quick.close();
    answering.closeAllConnections();
    answering.close();
  });
});

/** An MCP server over HTTP that notes by which session each call came. */
async function sessionServer(
  sessions: (string | undefined)[],
  ended: string[] = [],
  breakCall: ((response: ServerResponse) => void) | null = null,
) {
  const server = createHttpServer(async (request, response) => {
    const session = request.headers['mcp-session-id'] as string | undefined;
    if (request.method === 'DELETE') ended.push(session ?? '');
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(await text(request));
    if (id === undefined) return void response.writeHead(202).end();
    const tools = [{ name: 'remember', inputSchema: { type: 'object' } }];
    const serverInfo = { name: 'sessions', version: '1' };
    if (method === 'initialize') response.setHeader('mcp-session-id', randomUUID());
    if (method === 'tools/call') sessions.push(session);
    if (method === 'tools/call' && breakCall) return breakCall(response);
    const replies: Record<string, object> = {
      initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo },
      'tools/list': { tools },
      'tools/call': { content: [{ type: 'text', text: 'noted' }] },
    };
    const reply = JSON.stringify({ jsonrpc: '2.0', id, result: replies[method] ?? {} });
    response.writeHead(200, { 'content-type': 'application/json' }).end(reply);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

describe('a server that misbehaves', () => {
  it('costs its tools and not the run when it hangs in initialise', async () => {
    const quick = await openMcpBench({ connect_ms: 1_500 });
    const { tools, notes, missing } = await discover(
      [odd('hangs', { required: true }), odd('pages', { id: 'other' })],
      { ...quick.ports, openToken, principal: PRINCIPAL },
      signal(),
    );
    expect(tools.map(({ tool }) => tool)).toEqual(['page0', 'page1', 'page2', 'page3', 'page4']);
    expect(notes[0]).toMatchObject({ event: 'mcp_error', detail: expect.stringContaining('cannot be reached') });
    expect(missing).toHaveLength(1);
    await quick.close();
  });

  it('is named with its cause when it cannot be started', async () => {
    const { notes } = await found(serverOf({ name: 'gone', connection_config: { command: 'no-such-command' } }));
    expect(notes).toEqual([
      { event: 'mcp_error', detail: expect.stringMatching(/gone cannot be reached: .*no-such-command/), server: 'gone' },
    ]);
  });

  it('is not waited for by everyone while it stays down', async () => {
    let connections = 0;
    const refusing = createServer((socket) => {
      connections += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(refusing, 'listening');
    const url = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}/mcp`;
    const server = serverOf({ name: 'down', transport_type: 'http', connection_config: { url } });
    await found(server);
    await found(server);
    const asked = connections;
    expect(asked).toBeGreaterThan(0);
    expect((await found(server)).notes[0]).toMatchObject({ event: 'mcp_error' });
    expect(connections).toBe(asked);
    refusing.close();
  });

  it('may flood stderr and print noise on stdout', async () => {
    for (const manner of ['stderr', 'noise']) {
      const tools = await toolsOf(odd(manner));
      expect(await tools.call(callOf('key'), signal())).toMatchObject({ failed: false });
    }
  });

  it('has its invalid tools left out and reported', async () => {
    const { tools, notes } = await found(odd('schemas'));
    expect(tools.map(({ tool, spec }) => [tool, spec.name])).toEqual([
      ['good', 'good'],
      ['näme with/odd letters', 'n_me_with_odd_letters'],
    ]);
    expect(notes.filter(({ event }) => event === 'mcp_error')).toHaveLength(5);
  });

  it('is read to a limit when its list has no end', async () => {
    const { tools, notes } = await found(odd('endless'));
    expect(tools).toHaveLength(50);
    expect(notes.at(-1)?.detail).toMatch(/Its list of tools does not end; 50 pages/);
  });

  it('leaves a call that may have taken effect to a person if it dies in it, and serves the next call', async () => {
    const tools = await toolsOf(odd('plain'));
    const outcome = await tools.call(callOf('die'), signal()).catch((error: Error) => error);
    expect(outcome).toBeInstanceOf(ToolUncertain);
    expect(outcome).toMatchObject({ message: expect.stringMatching(/^The MCP server odd was lost while the tool ran/) });
    expect(await tools.call(callOf('key'), signal())).toMatchObject({ failed: false });
  });

  it('has a result of 10 MB cut', async () => {
    const { content } = await (await toolsOf(odd('plain'))).call(callOf('big'), signal());
    expect(content.length).toBeLessThan(300_000);
    expect(content).toMatch(/\[cut here: \d+ more characters\]$/);
  });

  it('answers a call of a tool that is gone with an error the model reads', async () => {
    const tools = createMcpTools(bench.ports, odd('plain'), [
      { server_id: 's', tool: 'vanished', spec: { name: 'vanished', description: '', parameters: {}, effect: 'write' } },
    ]);
    expect(await tools.call(callOf('vanished'), signal())).toMatchObject({
      failed: true,
      content: expect.stringContaining('no tool vanished'),
    });
  });

  it('may change its tools: the list is requested again, a run keeps its own', async () => {
    const server = odd('changes');
    const tools = await toolsOf(server);
    await tools.call(callOf('change'), signal());
    await expect.poll(async () => (await found(server)).tools[0]?.tool).toBe('after');
    expect((await tools.list(signal()))[0]?.name).toBe('before');
  });
});

describe('what a server is given', () => {
  it('is the call key, and secrets from stored tokens', async () => {
    const server = odd('plain');
    const connection_config = { ...server.connection_config, env: { SECRET: 'a {{token:one}} and {{ token:two }}' } };
    const tools = await toolsOf({ ...server, connection_config });
    const { content } = await tools.call(callOf('key'), signal());
    expect(JSON.parse(content)).toEqual({ meta: 'task:1-1', env: 'a value-of-one and value-of-two' });
  });

  it('is nothing when a token is missing, and the reason names it', async () => {
    const { notes } = await found(serverOf({ connection_config: { command: 'x', env: { A: '{{token:missing}}' } } }));
    expect(notes[0]?.detail).toBe('There is no stored token named missing');
  });

  it('is nothing of a command where none are allowed', async () => {
    const ports = { startConfined: null, schemaFaults: bench.schemaFaults, version: 'test', openToken };
    const answer = await probeMcp(everything(), ports);
    expect(answer).toMatchObject({ success: false, tools: [], error: expect.stringContaining('ALLOW_STDIO_MCP') });
  });
});

describe('a call over HTTP', () => {
  /** How a connection can break once the server has the call, and what it then knows about the call. */
  const BREAKS: Record<string, (response: ServerResponse) => void> = {
    'is reset': (response) => void (response.socket as Socket).resetAndDestroy(),
    'is closed': (response) => void response.socket?.destroy(),
    'ends within the head of the answer': (response) => void response.socket?.end('HTTP/1.1 200 OK\r\ncontent-ty'),
    'ends within the answer': (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"jsonrpc": "2.0",', () => response.socket?.destroy());
    },
    'ends within a stream': (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': open\n\n', () => response.socket?.destroy());
    },
    'ends with a stream that has no answer': (response) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': open\n\n'),
    'ends within a stream that it does not resume': (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('id: 1\ndata:\n\n', () => response.socket?.destroy());
    },
    'is answered by a proxy that lost the server': (response) => void response.writeHead(502).end('Bad gateway'),
    'is answered by a proxy that gave up': (response) => void response.writeHead(504).end('Gateway timeout'),
  };
  const EFFECTS = ['read', 'idempotent', 'write'] as const;
  const CASES = Object.keys(BREAKS).flatMap((name) => EFFECTS.map((effect) => [name, effect] as const));

  it.each(CASES)('whose connection %s is sent once; only a caller who may repeat it is asked to: %s', async (name, effect) => {
    const received: string[] = [];
    const answering = await sessionServer([], [], (response) => {
      received.push(effect);
      BREAKS[name]!(response);
    });
    const url = `http://127.0.0.1:${(answering.address() as AddressInfo).port}/mcp`;
    const server = serverOf({ id: randomUUID(), name: 'breaks', transport_type: 'http', connection_config: { url } });
    const spec = { name: 'remember', description: '', parameters: {}, effect };
    const tools = createMcpTools(bench.ports, server, [{ server_id: server.id, tool: 'remember', spec }]);
    const outcome = await tools.call(callOf('remember'), signal()).catch((error: Error) => error);
    if (effect === 'write') {
      expect(outcome).toBeInstanceOf(ToolUncertain);
      expect(outcome).toMatchObject({ message: expect.stringMatching(/was lost while the tool ran/) });
    } else {
      expect(outcome).toBeInstanceOf(ToolUnreachable);
      expect(outcome).toMatchObject({ reached: true });
    }
    expect(received).toEqual([effect]);
    answering.closeAllConnections();
    answering.close();
  });

  it.each(EFFECTS)('that was never sent is left to be repeated: %s', async (effect) => {
    const url = `http://127.0.0.1:${await freePort()}/mcp`;
    const server = serverOf({ id: randomUUID(), name: 'closed', transport_type: 'http', connection_config: { url } });
    const spec = { name: 'remember', description: '', parameters: {}, effect };
    const tools = createMcpTools(bench.ports, server, [{ server_id: server.id, tool: 'remember', spec }]);
    const outcome = await tools.call(callOf('remember'), signal()).catch((error: Error) => error);
    expect(outcome).toBeInstanceOf(ToolUnreachable);
    expect(outcome).not.toMatchObject({ reached: true });
  });
});

it('a probe returns the tools with their effects', async () => {
  const ports = { startConfined: bench.runner.startConfined, schemaFaults: bench.schemaFaults, version: 'test', openToken };
  const { success, tools, error } = await probeMcp(odd('plain'), ports);
  expect({ success, error }).toEqual({ success: true, error: null });
  expect(tools.find(({ name }) => name === 'key')?.effect).toBe('read');
  expect(tools.find(({ name }) => name === 'die')?.effect).toBe('write');
});

it('an idle connection is closed, and opened again when needed', async () => {
  const quick = await openMcpBench({ idle_ms: 200 });
  const idle = odd('idle');
  const tools = createMcpTools(
    quick.ports,
    idle,
    (await discover([idle], { ...quick.ports, openToken, principal: PRINCIPAL }, signal())).tools,
  );
  await expect.poll(async () => (await processes()).filter((line) => line.includes('odd.mjs idle'))).toEqual([]);
  expect(await tools.call(callOf('key'), signal())).toMatchObject({ failed: false });
  await quick.close();
});

it('an empty result becomes "(no content)"', () => {
  expect(toMcpOutcome({ content: [] })).toEqual({ content: '(no content)', failed: false });
  expect(toMcpOutcome({ content: 'no list', structuredContent: { a: 1 } }).content).toBe('{"a":1}');
});

const processes = () => new Promise<string[]>((resolve) => execFile('ps', ['-eo', 'args'], (_, out) => resolve(out.split('\n'))));

async function everythingOver(mode: string, port: number): Promise<() => Promise<void>> {
  const file = `${MODULES}/@modelcontextprotocol/server-everything/dist/index.js`;
  const child = execFile(process.execPath, [file, mode], { env: { PORT: String(port) } });
  await new Promise<void>((resolve) =>
    child.stderr?.on('data', (text: string) => /running on|listening on/.test(text) && resolve()),
  );
  return async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
}

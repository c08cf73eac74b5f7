import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { PinnedMcpServer } from '../../src/domain/definition.ts';
import type { ToolEffect } from '../../src/domain/effects.ts';
import { findOutage } from '../../src/domain/outages.ts';
import { BYTE_LIMITS, limitFetchBytes } from '../../src/egress/counted-fetch.ts';
import { createAgentToolbox } from '../../src/tools/for-agent.ts';
import { createPersonalFetch } from '../../src/tools/mcp/bearer.ts';
import { resolveTarget } from '../../src/tools/mcp/config.ts';
import type { McpConnection } from '../../src/tools/mcp/connection.ts';
import { discover } from '../../src/tools/mcp/discover.ts';
import { withoutDumps } from '../../src/tools/mcp/failures.ts';
import { createParamHeaders } from '../../src/tools/mcp/header-params.ts';
import { labelAnswer } from '../../src/tools/mcp/http-bodies.ts';
import { listTools } from '../../src/tools/mcp/listing.ts';
import { fillPrompt } from '../../src/tools/mcp/prompts.ts';
import { toResourceOutcome } from '../../src/tools/mcp/resources.ts';
import { toMcpOutcome } from '../../src/tools/mcp/result.ts';
import { ConfinedStdio, type StartConfined } from '../../src/tools/mcp/stdio.ts';
import { createMcpTools } from '../../src/tools/mcp/tools.ts';
import { ToolUnreachable } from '../../src/tools/source.ts';
import { type McpMessage, reply, startOddHttpMcpServer } from '../support/peers/odd-http-mcp-server.ts';
import { callOf, openHttpBench, openToken, serverOf } from '../tools/support.ts';

type Bench = ReturnType<typeof openHttpBench>;
const bench = openHttpBench();
afterAll(() => bench.close());
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const never = () => new AbortController().signal;
const overHttp = (url: string) => serverOf({ id: randomUUID(), name: 'odd', transport_type: 'http', connection_config: { url } });

function openOwnBench(options: Parameters<typeof openHttpBench>[0]): Bench {
  const own = openHttpBench(options);
  stops.push(own.close);
  return own;
}

async function started(...manners: Parameters<typeof startOddHttpMcpServer>) {
  const peer = await startOddHttpMcpServer(...manners);
  stops.push(peer.stop);
  return peer;
}

/** A server that answers calls in its own manner, and everything else as usual. */
const answering = (answer: (response: ServerResponse, message: McpMessage, request: IncomingMessage) => unknown) =>
  started((message, response, request) => message.method === 'tools/call' && (answer(response, message, request) ?? true));

const found = (server: PinnedMcpServer, { ports } = bench) =>
  discover([server], { ...ports, openToken, principal: 'local:alice', listed: new Set() }, never());

/** Calls the tool `act` of a server. */
const call = (
  server: PinnedMcpServer,
  { ports } = bench,
  more: Parameters<typeof callOf>[2] = {},
  effect: ToolEffect = 'write',
) =>
  createMcpTools(ports, server, [
    { server_id: server.id, tool: 'act', spec: { name: 'act', description: '', parameters: {}, effect } },
  ]).call(callOf('act', {}, more), never());

const nest = (levels: number) => Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 1);

describe('a list of tools', () => {
  const read = (...pages: unknown[][]) => {
    let page = 0;
    const ask = async () => {
      page += 1;
      return { tools: pages[page - 1], ...(page < pages.length && { nextCursor: String(page) }) };
    };
    return listTools(ask, { schemaFaults: async (all) => all.map(() => null), findObstacle: () => null });
  };
  const tool = (name: string, schema: object = {}) => ({ name, inputSchema: { type: 'object', ...schema } });
  const repeat = (count: number, value: unknown) => Array<unknown>(count).fill(value);

  it.each([
    ['nested too deep', { properties: nest(2_000) }],
    ['too large', { description: 'x'.repeat(64_000) }],
  ])('leaves out a tool whose schema is %s', async (fault, schema) => {
    const { tools, refused_tools } = await read([tool('bad', schema), tool('good')]);
    expect(tools.map((one) => one.tool)).toEqual(['good']);
    expect(refused_tools).toEqual([{ tool: 'bad', reason: `its input schema is ${fault}` }]);
  });

  it('is read up to five hundred tools, which is reported', async () => {
    const names = Array.from({ length: 501 }, (_, index) => `t${index}`);
    const { tools, problems } = await read(names.map((name) => tool(name)));
    expect(tools.at(-1)?.tool).toBe('t499');
    expect(problems).toEqual(['It has more tools than are read (500)']);
  });

  it('of five thousand entries is read, one of more is refused', async () => {
    const pages = Array.from({ length: 10 }, () => repeat(500, {}));
    expect(await read(...pages)).toMatchObject({ tools: [] });
    await expect(read(...pages, [tool('last')])).rejects.toThrow('it lists more than 5000 tools');
  });

  it.each([
    ['problems', {}, { problems: 50, refused_tools: 0 }],
    ['refused tools', { name: 'bad' }, { problems: 50, refused_tools: 50 }],
  ])('has at most fifty %s', async (_what, entry, counts) => {
    const { problems, refused_tools } = await read(repeat(51, entry));
    expect({ problems: problems.length, refused_tools: refused_tools.length }).toEqual(counts);
  });
});

describe('a result', () => {
  it.each<[string, object, string]>([
    ['too deep', { structuredContent: nest(2_000) }, '[structured content, nested too deep, not shown]'],
    ['a link without an address', { content: [{ type: 'resource_link', name: 'Notes' }] }, '[resource Notes: ]'],
    ['a link without anything', { content: [{ type: 'resource_link' }] }, '[resource ]'],
  ])('that is %s is named', (_what, result, content) => {
    expect(toMcpOutcome(result)).toEqual({ content, failed: false });
  });

  it('of reading a resource that has no contents is empty', () => {
    expect(toResourceOutcome('read_resource', { contents: 'none' })).toEqual({ content: '(no content)', failed: false });
  });

  it('larger than is read is one for the model, who reads why', async () => {
    const fetch = limitFetchBytes(globalThis.fetch, { ...BYTE_LIMITS, message: 10_000 });
    const peer = await answering((response, { id }) =>
      reply(response, id, { result: { content: [{ type: 'text', text: 'x'.repeat(20_000) }] } }),
    );
    expect(await call(overHttp(peer.url), openOwnBench({ fetch }))).toEqual({
      content: expect.stringMatching(
        /^mcp_answer_too_large: The MCP server odd made the call, but its answer could not be read: /,
      ),
      failed: true,
    });
  });

  it.each(['application/json', 'text/event-stream'])('of %s that is larger than is read when it has begun, too', async (type) => {
    const fetch = limitFetchBytes(globalThis.fetch, { ...BYTE_LIMITS, message: 1_000_000 });
    const peer = await answering((response) => {
      response.writeHead(200, { 'content-type': type }).write(type === 'application/json' ? '{"x":"' : 'data: {"x":"');
      response.end('x'.repeat(5_000_000));
    });
    expect(await call(overHttp(peer.url), openOwnBench({ fetch }))).toEqual({
      content: expect.stringMatching(/^mcp_answer_too_large: The MCP server odd made the call/),
      failed: true,
    });
  });

  it('begins after the blank parts that keep its connection open', async () => {
    const parts = ['\n', ' \n', '', 'da', 'ta: 7\n\n'].map((text) => new TextEncoder().encode(text));
    const labelled = await labelAnswer(new Response(ReadableStream.from(parts)));
    expect([labelled.headers.get('content-type'), await labelled.text()]).toEqual(['text/event-stream', 'data: 7\n\n']);
  });

  it.each([
    ['empty', 200],
    ['missing', 204],
  ])('that is %s is named as that', async (_what, status) => {
    const peer = await answering((response) => response.writeHead(status).end());
    const { content } = await call(overHttp(peer.url));
    expect(content).toBe('The MCP server odd made the call, but its answer could not be read: it is empty');
  });

  it('without a label that is no message is not understood', async () => {
    const peer = await answering((response) => response.writeHead(200).end('done'));
    expect((await call(overHttp(peer.url))).content).toMatch(/could not be read: it is not a message of the protocol$/);
  });
});

describe('a sentence of a server', () => {
  it.each([
    ['Bad value [{"path": ["a"], "message": "No"}] here', 'Bad value a: No here'],
    ['Bad value [{"a": 1}] here', 'Bad value [{"a": 1}] here'],
    ['Bad value [{"a" 1}] here', 'Bad value [{"a" 1}] here'],
  ])('%j is read as %j', (text, sentence) => {
    expect(withoutDumps(text)).toBe(sentence);
  });

  it('is read from a refusal that is one JSON text', async () => {
    const peer = await answering((response) => response.writeHead(403).end('"Not for you"'));
    expect((await call(overHttp(peer.url))).content).toBe('The MCP server odd answered with an error: Not for you (HTTP 403)');
  });

  it('does not name a wait that the server has not asked for', async () => {
    let calls = 0;
    const peer = await answering((response) => {
      calls += 1;
      response.writeHead(429, calls < 4 ? { 'retry-after-ms': '1' } : {}).end();
    });
    const { content } = await call(overHttp(peer.url));
    expect(content).toBe('The MCP server odd answered with an error: it takes no more requests now: HTTP 429');
  });
});

describe('a configuration', () => {
  const read = (transport_type: 'stdio' | 'http', connection_config: object) =>
    resolveTarget(serverOf({ transport_type, connection_config: connection_config as Record<string, unknown> }), openToken);

  it.each([
    ['stdio', {}, 'The MCP server server has no command'],
    ['stdio', { command: '' }, 'The MCP server server has no command'],
    ['http', {}, 'The MCP server server has no valid url'],
    ['http', { url: '{{token:ADDRESS}}' }, 'The MCP server server has no valid url'],
  ] as const)('of %s %j is refused with a sentence', async (transport_type, config, sentence) => {
    await expect(read(transport_type, config)).rejects.toThrow(sentence);
  });

  it('without its token costs the call, and the model reads which one', async () => {
    const server = serverOf({ transport_type: 'http', connection_config: { url: 'http://127.0.0.1/{{token:missing}}' } });
    expect(await call(server)).toEqual({ content: 'There is no stored token named missing', failed: true });
  });

  it('of headers that the protocol does not allow sends none', () => {
    const region = { type: 'array', 'x-mcp-header': 'Region' };
    expect(createParamHeaders({ type: 'object', properties: { region } }, { region: [1] })).toEqual({});
  });
});

describe('a prompt', () => {
  const fill = (result: object) =>
    fillPrompt({ request: async () => result } as unknown as McpConnection, { name: 'p', arguments: {} }, never());

  it('of several parts is one text', async () => {
    const text = (value: string) => ({ type: 'text', text: value });
    const messages = [
      { role: 'user', content: [text('one'), text('two')] },
      { role: 'assistant', content: text('three') },
    ];
    expect(await fill({ messages })).toBe('one\ntwo\n\nAssistant: three');
  });

  it('that asks a question first is refused with the reason', async () => {
    await expect(fill({ resultType: 'input_required', inputRequests: {} })).rejects.toThrow(
      'it asks a question first, which is possible only during a run',
    );
  });
});

describe('progress', () => {
  it.each([
    [{ progress: 3 }, '3'],
    [{ progress: 3, total: 7 }, '3 of 7'],
    [{ progress: 3, total: 7, message: 'half' }, 'half'],
  ])('%o is reported as %j', async (values, line) => {
    const reported: string[] = [];
    const peer = await answering((response, { id, params }) => {
      const { progressToken } = (params as { _meta: { progressToken: number } })._meta;
      const result = { content: [{ type: 'text', text: 'done' }] };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const message of [
        { method: 'notifications/progress', params: { progressToken, ...values } },
        { id, result },
      ])
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
      response.end();
    });
    expect(await call(overHttp(peer.url), bench, { progress: (text) => reported.push(text) })).toMatchObject({ content: 'done' });
    expect(reported).toEqual([line]);
  });
});

describe('a machine without descriptors', () => {
  /** A fetch that fails at requests with this method. */
  const failing =
    (method: string, error: () => Error): typeof fetch =>
    async (input, init) => {
      if (String(init?.body).includes(`"${method}"`)) throw error();
      return fetch(input, init);
    };
  const lacks = () => Object.assign(new Error('too many open files'), { code: 'EMFILE', syscall: 'open' });

  it('does not count against a server: a step that lists its tools fails, and is tried again', async () => {
    const peer = await started();
    const poor = openOwnBench({ fetch: failing('tools/list', lacks) });
    const failure = await found(overHttp(peer.url), poor).catch((error) => error);
    expect(findOutage(failure)?.code).toBe('too_many_open_files');
  });

  it.each(['initialize', 'tools/call'])('does not fail a call: it is made as soon as there are some (%s)', async (method) => {
    const peer = await started();
    const server = overHttp(peer.url);
    let left = 2;
    const fetchOf = failing(method, lacks);
    const own = openOwnBench({ fetch: (...sent) => (left > 0 ? fetchOf : fetch)(...sent) });
    for (; left > 0; left -= 1) {
      const failure = await call(server, own).catch((error) => error);
      expect(failure).toBeInstanceOf(ToolUnreachable);
      expect(findOutage(failure)?.code).toBe('too_many_open_files');
    }
    expect(await call(server, own)).toMatchObject({ content: 'acted' });
  });

  it('and one that gets no connection in time has sent nothing: the call is made in another connection', async () => {
    const peer = await started();
    const cause = Object.assign(new Error('no connection'), { code: 'UND_ERR_CONNECT_TIMEOUT' });
    let calls = 0;
    const failing_once = failing('tools/call', () => new TypeError('fetch failed', { cause }));
    const fetchOnce: typeof fetch = (input, init) => {
      if (String(init?.body).includes('"tools/call"')) calls += 1;
      return (calls === 1 ? failing_once : fetch)(input, init);
    };
    expect(await call(overHttp(peer.url), openOwnBench({ fetch: fetchOnce }))).toEqual({ content: 'acted', failed: false });
    expect(peer.acted).toHaveLength(1);
  });
});

describe('a connection that was not used for a while', () => {
  const checking = () => openOwnBench({ check_after_ms: 0 });
  const countOf = (asked: string[], method: string) => asked.filter((one) => one === method).length;

  it.each([
    ['answers', (response: ServerResponse, id?: number) => reply(response, id, { result: {} })],
    [
      'does not know pings',
      (response: ServerResponse, id?: number) => reply(response, id, { error: { code: -32601, message: '' } }),
    ],
  ])('is used again if the server %s', async (_what, answer) => {
    const asked: string[] = [];
    const peer = await started(({ id, method }, response) => {
      asked.push(method);
      return method === 'ping' && answer(response, id);
    });
    const [server, own] = [overHttp(peer.url), checking()];
    for (const _ of [1, 2]) expect(await call(server, own)).toMatchObject({ content: 'acted' });
    expect([countOf(asked, 'initialize'), countOf(asked, 'ping')]).toEqual([1, 1]);
  });

  it('is opened again if the server has forgotten it', async () => {
    const peer = await started(({ method }, response) => method === 'ping' && response.writeHead(404).end());
    const [server, own] = [overHttp(peer.url), checking()];
    for (const _ of [1, 2]) expect(await call(server, own)).toMatchObject({ content: 'acted' });
    expect(new Set(peer.acted).size).toBe(2);
  });
});

it('a call that a server refuses is not made in another session because the server does not answer a ping', async () => {
  const asked: string[] = [];
  const peer = await started(({ id, method }, response) => {
    asked.push(method);
    if (method === 'ping') return true;
    return method === 'tools/call' && reply(response, id, { error: { code: -32602, message: 'No city' } });
  });
  const within = AbortSignal.timeout;
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => within(ms === 5_000 ? 50 : ms));
  onTestFinished(() => void vi.restoreAllMocks());
  expect(await call(overHttp(peer.url))).toMatchObject({ content: expect.stringContaining('No city'), failed: true });
  expect(asked.filter((method) => ['initialize', 'tools/call', 'ping'].includes(method))).toEqual([
    'initialize',
    'tools/call',
    'ping',
  ]);
});

it('a call that a server has made and refused is not made again, although the server has lost the session', async () => {
  const peer = await started((message, response, request) => {
    const session = request.headers['mcp-session-id'] as string | undefined;
    if (message.method === 'initialize') return false;
    if (!session || !peer.sessions.has(session)) return response.writeHead(404).end();
    if (message.method !== 'tools/call' || peer.acted.length > 0) return false;
    peer.acted.push(session);
    peer.sessions.clear();
    return reply(response, message.id, { error: { code: -32603, message: 'It broke' } }, 500);
  });
  const server = overHttp(peer.url);
  expect(await call(server)).toMatchObject({ content: expect.stringContaining('It broke'), failed: true });
  expect(peer.acted).toHaveLength(1);
  expect(await call(server)).toMatchObject({ content: 'acted' });
});

it('a server with the older transport that needs a sign-in names who has to sign in', async () => {
  const peer = await started(
    (_message, response) => response.writeHead(405).end(),
    (response) => response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(),
  );
  const fetchFor = createPersonalFetch(fetch, { find: async () => null } as never);
  const { notes } = await found(overHttp(peer.url), openOwnBench({ fetchFor }));
  expect(notes).toMatchObject([{ detail: expect.stringMatching(/^[a-z_: ]*The MCP server odd needs a sign-in of local:alice/) }]);
});

describe('a worker that shuts down', () => {
  it('opens no connection any more', async () => {
    const own = openHttpBench();
    await own.close();
    const peer = await started();
    await expect(call(overHttp(peer.url), own)).rejects.toThrow('The worker is shutting down');
  });

  it('closes also a connection that is opened meanwhile, and makes no call through it', async () => {
    const pinged = Promise.withResolvers<void>();
    const counts = { starts: 0, kills: 0 };
    const own = openHttpBench({ check_after_ms: 0, startConfined: startProcess(counts, pinged.resolve) });
    const server = serverOf({ id: randomUUID(), name: 'slow', connection_config: { command: 'x' } });
    expect(await call(server, own)).toMatchObject({ content: expect.stringContaining('odd process') });
    const outcome = call(server, own).catch((error) => error);
    await pinged.promise;
    await own.close();
    expect(await outcome).toMatchObject({ name: 'ToolUnreachable', message: 'The worker is shutting down' });
    expect(counts).toEqual({ starts: 2, kills: 2 });
  });
});

/** Starts processes that refuse calls, do not answer pings, and do not know the version without a handshake. */
function startProcess(
  counts: { starts: number; kills: number },
  onPing: () => void,
  { knows_handshake = true, onMessage = (_method: string): unknown => undefined } = {},
): StartConfined {
  return async () => {
    counts.starts += 1;
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const end = Promise.withResolvers<number>();
    const send = (message: object) => stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    stdin.on('data', (line: Buffer) => {
      const { id, method, params } = JSON.parse(line.toString());
      onMessage(method);
      const facts = { protocolVersion: params?.protocolVersion, capabilities: {}, serverInfo: { name: 'odd', version: '1' } };
      if (method === 'initialize' && knows_handshake) send({ id, result: facts });
      else if (method === 'ping') onPing();
      else if (id !== undefined) send({ id, error: { code: -32601, message: 'odd process' } });
    });
    const kill = async () => {
      if (stdout.writableEnded) return;
      counts.kills += 1;
      stdout.end();
      end.resolve(0);
    };
    return { stdin, stdout, stderr: new PassThrough(), exit: end.promise, kill };
  };
}

describe('a command', () => {
  const command = (name: string, ...args: string[]) =>
    serverOf({ id: randomUUID(), name: 'odd', connection_config: { command: name, args } });

  it('that downloads from no registry that is known needs the network', async () => {
    const own = openOwnBench({ packages: {} as never, startConfined: startProcess({ starts: 0, kills: 0 }, () => {}) });
    const { notes } = await found(command('npx', './server.js'), own);
    expect(notes).toMatchObject([
      { detail: expect.stringContaining('the arguments of npx do not name a package of a registry') },
    ]);
    const { notes: connected } = await found({ ...command('npx', './server.js'), network: true }, own);
    expect(connected).toMatchObject([{ event: 'mcp_connected' }]);
  });

  it('whose state cannot be opened is named with the reason of the machine', async () => {
    const state = { open: () => Promise.reject(new Error('EACCES: permission denied')) } as never;
    const own = openOwnBench({ state, startConfined: startProcess({ starts: 0, kills: 0 }, () => {}) });
    const { notes } = await found({ ...command('x'), state: true }, own);
    expect(notes).toMatchObject([{ detail: 'EACCES: permission denied' }]);
  });

  it('that refuses the handshake, and does not speak without one, is started twice', async () => {
    const counts = { starts: 0, kills: 0 };
    const own = openOwnBench({ startConfined: startProcess(counts, () => {}, { knows_handshake: false }) });
    const { notes } = await found(command('x'), own);
    expect(notes).toMatchObject([{ detail: 'The MCP server odd cannot be reached: odd process' }]);
    expect(counts).toEqual({ starts: 2, kills: 2 });
  });

  it.each([
    ['auto', ['server/discover', 'initialize']],
    ['2025-11-25', ['initialize']],
  ])('is asked what it speaks, unless a version with a handshake was chosen for it: %s', async (protocol, methods) => {
    const asked: string[] = [];
    const onMessage = (method: string) => asked.push(method);
    const own = openOwnBench({ startConfined: startProcess({ starts: 0, kills: 0 }, () => {}, { onMessage }) });
    await found({ ...command('x'), protocol }, own);
    expect(asked.slice(0, methods.length)).toEqual(methods);
  });
});

it('a run that has not looked for its tools yet has none of its servers', async () => {
  const peer = await started();
  const definition = { tools: [], mcp_servers: [overHttp(peer.url)] };
  const box = createAgentToolbox(definition, { mcp: bench.ports } as never, { custom_tools: false, toolset: null });
  expect(await box.list(never())).toEqual([]);
});

describe('the lines of a process', () => {
  async function open(most_bytes: number) {
    const [stdin, stdout] = [new PassThrough({ highWaterMark: 8 }), new PassThrough()];
    const killed = Promise.withResolvers<number>();
    const kill = async () => killed.resolve(0);
    const start = async () => ({ stdin, stdout, stderr: new PassThrough(), exit: killed.promise, kill });
    const transport = new ConfinedStdio(start as never, { command: 'x' } as never, most_bytes);
    const errors: string[] = [];
    const messages: unknown[] = [];
    transport.onerror = (error) => errors.push(error.message);
    transport.onmessage = (message) => messages.push(message);
    await transport.start();
    return { transport, stdin, stdout, killed: killed.promise, errors, messages };
  }
  const PING = { jsonrpc: '2.0', id: 1, method: 'ping' } as const;

  it('that are longer than a message end the process, and what follows is not read', async () => {
    const { stdout, killed, errors, messages } = await open(100);
    stdout.write(`${JSON.stringify(PING)}\n${'x'.repeat(101)}\n${JSON.stringify(PING)}\n`);
    await killed;
    expect(messages).toEqual([PING]);
    expect(errors).toEqual(['a message of more than 1 KiB is not read']);
  });

  it('that it does not read hold back the next one', async () => {
    const { transport, stdin } = await open(100);
    let is_sent = false;
    const sent = transport.send(PING).then(() => {
      is_sent = true;
    });
    await new Promise(setImmediate);
    expect(is_sent).toBe(false);
    stdin.resume();
    await sent;
  });

  it('are not sent to one that has ended', async () => {
    const { transport, stdin } = await open(100);
    stdin.destroy();
    await expect(transport.send(PING)).rejects.toThrow('its process has ended');
  });
});

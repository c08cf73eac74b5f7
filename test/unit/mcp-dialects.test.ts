import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import type { PinnedMcpServer } from '../../src/domain/definition.ts';
import type { ToolEffect } from '../../src/domain/effects.ts';
import { createGuardedFetch } from '../../src/egress/guarded-fetch.ts';
import { discover } from '../../src/tools/mcp/discover.ts';
import { scheduleReconnection } from '../../src/tools/mcp/open-client.ts';
import type { McpPackages } from '../../src/tools/mcp/packages/cache.ts';
import { createMcpPool, type PoolOptions } from '../../src/tools/mcp/pool.ts';
import { toMcpOutcome } from '../../src/tools/mcp/result.ts';
import type { StartConfined } from '../../src/tools/mcp/stdio.ts';
import { createMcpTools } from '../../src/tools/mcp/tools.ts';
import { ToolUncertain } from '../../src/tools/source.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';
import { type McpMessage, reply, startOddHttpMcpServer } from '../support/peers/odd-http-mcp-server.ts';
import { callOf, openToken, serverOf } from '../tools/support.ts';

const PRINCIPAL = 'local:alice';
/** The ports of servers over HTTP, which need no sandbox. */
function openBench(options: Partial<PoolOptions> = {}) {
  const schemaFaults = async (schemas: readonly unknown[]) => schemas.map(() => null);
  const pool = createMcpPool({ startConfined: null, schemaFaults, version: 'test', ...options });
  return { ports: { pool, openConfig: async (server: PinnedMcpServer) => server, openToken }, close: pool.close };
}
const bench = openBench();
afterAll(() => bench.close());
const stops: (() => Promise<unknown>)[] = [];
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

const never = () => new AbortController().signal;
const overHttp = (url: string) => serverOf({ id: randomUUID(), name: 'odd', transport_type: 'http', connection_config: { url } });
interface Waiting {
  ports?: typeof bench.ports & { patience_ms?: number };
  /** True if the server has listed its tools a short time ago. */
  listed?: boolean;
  report?: (sentence: string) => void;
}

const found = (server: ReturnType<typeof serverOf>, { ports = bench.ports, listed = false, report }: Waiting = {}) =>
  discover(
    [server],
    { ...ports, openToken, principal: PRINCIPAL, listed: new Set(listed ? [server.id] : []), ...(report && { report }) },
    never(),
  );

async function started(...manners: Parameters<typeof startOddHttpMcpServer>) {
  const peer = await startOddHttpMcpServer(...manners);
  stops.push(peer.stop);
  return peer;
}

/** The tool `act` of the server at this address. */
const toolsAt = (server: ReturnType<typeof serverOf>, effect: ToolEffect = 'write', { ports } = bench) =>
  createMcpTools(ports, server, [
    { server_id: server.id, tool: 'act', spec: { name: 'act', description: '', parameters: {}, effect } },
  ]);

/** How servers refuse a request in a session that they do not know, as after a restart. */
const REFUSALS: Record<string, (response: ServerResponse, message: McpMessage) => unknown> = {
  '404 without a body': (response) => response.writeHead(404).end(),
  '404 with an error of the protocol': (response) =>
    reply(response, undefined, { error: { code: -32001, message: 'Session not found' } }, 404),
  '400 with an error of the protocol': (response) =>
    reply(response, undefined, { error: { code: -32000, message: 'Bad Request: No valid session ID provided' } }, 400),
  '400 with a line of text': (response) => response.writeHead(400).end('Invalid session ID'),
  '410': (response) => response.writeHead(410).end(),
  '200 with an error of the protocol': (response, { id }) =>
    reply(response, id, { error: { code: -32600, message: 'Session expired' } }),
};

describe('a server that has lost its sessions', () => {
  async function forgetful(refuse: (response: ServerResponse, message: McpMessage) => unknown) {
    const peer = await started((message, response, request) => {
      const session = request.headers['mcp-session-id'] as string | undefined;
      if (message.method === 'initialize' || (session && peer.sessions.has(session))) return false;
      refuse(response, message);
      return true;
    });
    return peer;
  }

  it.each(Object.entries(REFUSALS))('and answers %s is asked and called in a new session at once', async (_what, refuse) => {
    const peer = await forgetful(refuse);
    const server = overHttp(peer.url);
    expect((await found(server)).tools).toHaveLength(1);
    peer.sessions.clear();
    expect((await found(server)).tools).toHaveLength(1);
    peer.sessions.clear();
    expect(await toolsAt(server).call(callOf('act'), never())).toEqual({ content: 'acted', failed: false });
    expect(peer.acted).toHaveLength(1);
  });

  it('and is made with the official SDK is called in a new session at once', async () => {
    const peer = await startHttpMcpServer('real', (mcp) => {
      mcp.registerTool('act', {}, async () => ({ content: [{ type: 'text', text: 'acted' }] }));
    });
    stops.push(peer.stop);
    const server = overHttp(peer.url);
    expect((await found(server)).tools).toHaveLength(1);
    peer.forget();
    expect((await found(server)).tools).toHaveLength(1);
    peer.forget();
    expect(await toolsAt(server).call(callOf('act'), never())).toEqual({ content: 'acted', failed: false });
  });

  it('still answers the calls that it was executing', async () => {
    const held = Promise.withResolvers<() => void>();
    const peer = await started((message, response, request) => {
      const session = request.headers['mcp-session-id'] as string | undefined;
      if (message.method === 'tools/call' && message.params?.name === 'act' && !peer.sessions.has('held')) {
        peer.sessions.add('held');
        held.resolve(() => reply(response, message.id, { result: { content: [{ type: 'text', text: 'late' }] } }));
        return true;
      }
      if (message.method === 'initialize' || (session && peer.sessions.has(session))) return false;
      return response.writeHead(404).end();
    });
    const server = overHttp(peer.url);
    const first = toolsAt(server).call(callOf('act'), never());
    const answer = await held.promise;
    peer.sessions.clear();
    peer.sessions.add('held');
    expect(await toolsAt(server).call(callOf('act'), never())).toMatchObject({ content: 'acted' });
    answer();
    expect(await first).toEqual({ content: 'late', failed: false });
  });
});

it('a server that does not resume its other stream still answers the calls that it was executing', async () => {
  const held = Promise.withResolvers<() => void>();
  const refused = Promise.withResolvers<void>();
  let stream: ServerResponse | undefined;
  const peer = await started(
    ({ id, method }, response) => {
      if (method !== 'tools/call') return false;
      held.resolve(() => reply(response, id, { result: { content: [{ type: 'text', text: 'late' }] } }));
      return true;
    },
    (response, request) => {
      if (request.headers['last-event-id']) {
        response.writeHead(400).end();
        return refused.resolve();
      }
      stream = response;
      return response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1\ndata:\n\n');
    },
  );
  const call = toolsAt(overHttp(peer.url)).call(callOf('act'), never());
  const answer = await held.promise;
  await expect.poll(() => stream).toBeDefined();
  stream?.socket?.destroy();
  await refused.promise;
  answer();
  expect(await call).toEqual({ content: 'late', failed: false });
});

describe('a stream with the answer to a call', () => {
  const RESULT = { content: [{ type: 'text', text: 'resumed' }] };

  it.each(['1', 'x'.repeat(2_000)])('that is not resumed ends this call, not the others of its connection', async (event_id) => {
    const calls: { id: number | undefined; response: ServerResponse }[] = [];
    const both = Promise.withResolvers<void>();
    const peer = await started(
      ({ id, method }, response) => {
        if (method !== 'tools/call') return false;
        calls.push({ id, response });
        if (calls.length === 2) both.resolve();
        return true;
      },
      (response, request) => response.writeHead(request.headers['last-event-id'] ? 400 : 405).end(),
    );
    const server = overHttp(peer.url);
    const broken = toolsAt(server).call(callOf('act'), never());
    await expect.poll(() => calls).toHaveLength(1);
    const other = toolsAt(server).call(callOf('act'), never());
    await both.promise;
    calls[0]?.response.writeHead(200, { 'content-type': 'text/event-stream' });
    calls[0]?.response.end(`id: ${event_id}\ndata:\n\n`);
    await expect(broken).rejects.toThrow(ToolUncertain);
    reply(calls[1]!.response, calls[1]?.id, { result: RESULT });
    expect(await other).toEqual({ content: 'resumed', failed: false });
  });

  it('is resumed, also if the server fails once to do it, and an empty continuation ends the call', async () => {
    let call_id: number | undefined;
    let asked = 0;
    const peer = await started(
      ({ id, method }, response) => {
        if (method !== 'tools/call') return false;
        call_id = id;
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: 1\ndata:\n\n');
        return true;
      },
      (response, request) => {
        if (request.headers['last-event-id'] !== '1') return response.writeHead(405).end();
        asked += 1;
        if (asked === 1) return response.writeHead(500).end();
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        return response.end(
          asked === 2 ? `data: ${JSON.stringify({ jsonrpc: '2.0', id: call_id, result: RESULT })}\n\n` : ': nothing\n\n',
        );
      },
    );
    const server = overHttp(peer.url);
    expect(await toolsAt(server).call(callOf('act'), never())).toEqual({ content: 'resumed', failed: false });
    await expect(toolsAt(server).call(callOf('act'), never())).rejects.toThrow(ToolUncertain);
  });

  it.each([
    ['an error', (response: ServerResponse) => response.writeHead(500).end(), 'HTTP 500'],
    ['a lost connection', (response: ServerResponse) => response.destroy(), 'other side closed'],
  ])('is asked for twice, and after %s each time a person decides', async (_what, refuse, reason) => {
    let asked = 0;
    const peer = await started(
      ({ method }, response) => {
        if (method !== 'tools/call') return false;
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: 1\ndata:\n\n');
        return true;
      },
      (response, request) => {
        if (request.headers['last-event-id'] !== '1') return response.writeHead(405).end();
        asked += 1;
        return refuse(response);
      },
    );
    await expect(toolsAt(overHttp(peer.url)).call(callOf('act'), never())).rejects.toThrow(reason);
    expect(asked).toBe(2);
  });

  it('is kept for the calls that continue when another one is stopped, and not taken for that of a later call', async () => {
    let calls = 0;
    const asked: unknown[] = [];
    const peer = await started(
      ({ method }, response) => {
        if (method !== 'tools/call') return false;
        calls += 1;
        if (calls === 3) return false;
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`id: ${calls === 2 ? 2 : 1}\ndata:\n\n`);
        return true;
      },
      (response, request) => {
        const last_id = request.headers['last-event-id'];
        if (last_id === undefined) return response.writeHead(405).end();
        response.writeHead(asked.includes(last_id) ? 400 : 500).end();
        return asked.push(last_id);
      },
    );
    const server = overHttp(peer.url);
    const halt = new AbortController();
    const stopped = toolsAt(server).call(callOf('act'), halt.signal);
    const other = toolsAt(server).call(callOf('act'), never());
    await expect.poll(() => asked.toSorted(), { timeout: 5_000 }).toEqual(['1', '2']);
    // Once this call is answered, both refusals have arrived.
    expect(await toolsAt(server).call(callOf('act'), never())).toMatchObject({ content: 'acted' });
    halt.abort(new Error('halted'));
    await expect(stopped).rejects.toThrow('halted');
    await expect(other).rejects.toThrow(ToolUncertain);
    await expect(toolsAt(server).call(callOf('act'), never())).rejects.toThrow(ToolUncertain);
  });
});

it.each([
  [0, 1_000],
  [5_000, 5_000],
  [2 ** 40, 60_000],
])('a stream whose server asks to open it again after %i ms is opened after %i ms', (asked_ms, after_ms) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    let count = 0;
    const reconnect = () => {
      count += 1;
    };
    scheduleReconnection(reconnect, asked_ms);
    scheduleReconnection(reconnect, asked_ms)();
    vi.advanceTimersByTime(after_ms - 1);
    expect(count).toBe(0);
    vi.advanceTimersByTime(1);
    expect(count).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});

it('a server that has asked a question is shared by runs again once all connections to it were closed', async () => {
  let sessions = 0;
  let has_asked = false;
  const peer = await startHttpMcpServer('asking', (mcp) => {
    sessions += 1;
    mcp.registerTool('act', {}, async () => {
      if (!has_asked) await mcp.server.elicitInput({ message: 'Hm?', requestedSchema: { type: 'object', properties: {} } });
      has_asked = true;
      return { content: [{ type: 'text', text: 'acted' }] };
    });
  });
  stops.push(peer.stop);
  const idle = openBench({ idle_ms: 300 });
  stops.unshift(idle.close);
  const server = overHttp(peer.url);
  const ask = async () => ({ action: 'decline' as const });
  let runs = 0;
  /** The calls of two new runs; returns how many sessions were opened for them. */
  const callTwice = async () => {
    const before = sessions;
    for (const _ of [1, 2]) {
      runs += 1;
      const call = callOf('act', {}, { ask });
      const run = { ...call.run, task_id: `run-${runs}` };
      expect(await toolsAt(server, 'write', idle).call({ ...call, run }, never())).toMatchObject({ content: 'acted' });
    }
    return sessions - before;
  };
  expect(await callTwice()).toBe(4);
  await expect.poll(callTwice, { interval: 1_000, timeout: 15_000 }).toBe(2);
});

describe('a server that refuses a call', () => {
  const refusing = (status: number, body: string, type = 'application/json') =>
    started(({ method }, response) =>
      method === 'tools/call' ? response.writeHead(status, { 'content-type': type }).end(body) : false,
    );
  const ISSUES = [
    { code: 'invalid_type', expected: 'string', path: ['city', 0], message: 'Expected string, received number' },
    { code: 'custom', path: [], message: 'Too much' },
  ];

  it.each([
    [400, '{"error":"The city is missing"}', 'The city is missing (HTTP 400)'],
    [400, '{"detail":[{"loc":["body"],"msg":"field required"}]}', 'field required (HTTP 400)'],
    [403, '{"message":"Not for you"}', 'Not for you (HTTP 403)'],
    [413, '<html><body>Too large</body></html>', 'HTTP 413'],
    [422, '{"errors":[{"message":"No such city"}]}', 'No such city (HTTP 422)'],
    [500, '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"It broke"}}', 'It broke (HTTP 500)'],
    [400, `{"error":${JSON.stringify(JSON.stringify(ISSUES))}}`, 'city.0: Expected string, received number; Too much (HTTP 400)'],
  ])('with %s keeps its session, and the model gets the sentence: %s', async (status, body, sentence) => {
    const peer = await refusing(status, body);
    const outcome = await toolsAt(overHttp(peer.url)).call(callOf('act'), never());
    expect(outcome).toEqual({ content: `The MCP server odd answered with an error: ${sentence}`, failed: true });
    expect(peer.sessions.size).toBe(1);
  });

  it('with an error of the protocol has no list of faults in its sentence', async () => {
    const peer = await started(({ id, method }, response) => {
      const message = `MCP error -32602: Invalid arguments for tool act: ${JSON.stringify(ISSUES, null, 2)}`;
      return method === 'tools/call' && reply(response, id, { error: { code: -32602, message } });
    });
    const { content } = await toolsAt(overHttp(peer.url)).call(callOf('act'), never());
    expect(content).toBe(
      'The MCP server odd answered with an error: Invalid arguments for tool act: city.0: Expected string, received number; Too much',
    );
  });

  it.each([
    ['no JSON', 'application/json', '{"jsonrpc": '],
    ['no message', 'application/json', '{"answer": 1}'],
    ['a result that is a text', 'application/json', '{"jsonrpc":"2.0","id":2,"result":"done"}'],
    ['no answer of a known type', 'text/plain', 'done'],
  ])('by answering %s has made it, and the model reads why it has no answer', async (_what, type, body) => {
    const peer = await refusing(200, body, type);
    const { content } = (await toolsAt(overHttp(peer.url)).call(callOf('act'), never())) as { content: string };
    expect(content).toMatch(/^The MCP server odd made the call, but its answer could not be read: /);
    expect(content).not.toMatch(/[{[]|invalid_/);
  });
});

describe('a server whose answers have the wrong label', () => {
  const answer = (id: number | undefined) =>
    JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'acted' }] } });
  it('is understood if its first field arrives in pieces', async () => {
    const peer = await started(({ id, method }, response) => {
      if (method !== 'tools/call') return false;
      response.writeHead(200, { 'content-type': 'text/plain' }).write('da', () => response.end(`ta: ${answer(id)}\n\n`));
      return true;
    });
    expect(await toolsAt(overHttp(peer.url)).call(callOf('act'), never())).toEqual({ content: 'acted', failed: false });
  });

  it('is understood after blank lines that keep the connection open', async () => {
    const peer = await started(({ id, method }, response) => {
      if (method !== 'tools/call') return false;
      response.writeHead(200, { 'content-type': 'application/json' }).write('\n', () => response.end(answer(id)));
      return true;
    });
    expect(await toolsAt(overHttp(peer.url)).call(callOf('act'), never())).toEqual({ content: 'acted', failed: false });
  });

  it.each([
    ['JSON as text', 'text/plain', answer],
    ['JSON without a label', '', (id: number | undefined) => `\n ${answer(id)}`],
    [
      'an event stream as text',
      'text/plain; charset=utf-8',
      (id: number | undefined) => `event: message\ndata: ${answer(id)}\n\n`,
    ],
    ['an event stream as JSON', 'application/json', (id: number | undefined) => `data: ${answer(id)}\n\n`],
    ['JSON as an event stream', 'text/event-stream', answer],
    ['JSON in capital letters', 'Application/JSON; Charset=UTF-8', answer],
    ['an event stream in capital letters', 'TEXT/EVENT-STREAM', (id: number | undefined) => `data: ${answer(id)}\n\n`],
    [
      'an event stream of an unknown first field',
      'text/event-stream',
      (id: number | undefined) => `x: 1\ndata: ${answer(id)}\n\n`,
    ],
    ['an event stream as bytes', 'application/octet-stream', (id: number | undefined) => `: hello\n\ndata: ${answer(id)}\n\n`],
  ])('is understood: %s', async (_what, type, body) => {
    const peer = await started(({ id, method }, response) =>
      method === 'tools/call' ? response.writeHead(200, type ? { 'content-type': type } : {}).end(body(id)) : false,
    );
    expect(await toolsAt(overHttp(peer.url)).call(callOf('act'), never())).toEqual({ content: 'acted', failed: false });
  });
});

describe('a server without capacity', () => {
  const busy = (times: number, headers: object, status = 429) => {
    let left = times;
    return started(({ method }, response) => {
      if (method !== 'tools/call' || left === 0) return false;
      left -= 1;
      return response.writeHead(status, { ...headers }).end();
    });
  };

  it.each([
    [429, { 'retry-after': '1' }],
    [429, {}],
    [503, { 'retry-after': '1' }],
  ])('that answers %s with %o is asked again, once it has some', async (status, headers) => {
    const peer = await busy(1, headers, status);
    const progress: string[] = [];
    const call = callOf('act', {}, { progress: (text) => progress.push(text) });
    expect(await toolsAt(overHttp(peer.url)).call(call, never())).toEqual({ content: 'acted', failed: false });
    expect(peer.acted).toHaveLength(1);
    expect(progress).toEqual(['The server takes no more requests now; waiting 1 s']);
  });

  it('is waited for longer than a call may be silent', async () => {
    const quick = openBench({ call_ms: 400 });
    stops.push(quick.close);
    const peer = await busy(1, { 'retry-after': '1' });
    expect(await toolsAt(overHttp(peer.url), 'write', quick).call(callOf('act'), never())).toMatchObject({ content: 'acted' });
  });

  it('is not waited for if it asks for an hour; the model gets the reason', async () => {
    const peer = await busy(Number.POSITIVE_INFINITY, { 'retry-after': '3600' });
    expect(await toolsAt(overHttp(peer.url)).call(callOf('act'), never())).toEqual({
      content: 'The MCP server odd answered with an error: it takes no more requests now: HTTP 429; it asks to wait 3600 s',
      failed: true,
    });
  });

  it('does not get a call whose run is halted while it waits', async () => {
    const peer = await busy(1, { 'retry-after': '1' });
    const halt = new AbortController();
    const call = callOf('act', {}, { progress: () => halt.abort(new Error('halted')) });
    await expect(toolsAt(overHttp(peer.url)).call(call, halt.signal)).rejects.toThrow('halted');
    // A second call takes longer than the wait of the first.
    await toolsAt(overHttp((await busy(1, { 'retry-after': '2' })).url)).call(callOf('act'), never());
    expect(peer.acted).toEqual([]);
  });
});

describe('a server that does not answer a call in time', () => {
  const silent = () => started(({ method }) => method === 'tools/call');
  const outcomeOf = async (effect: ToolEffect) => {
    const quick = openBench({ call_ms: 300 });
    stops.unshift(quick.close);
    return toolsAt(overHttp((await silent()).url), effect, quick)
      .call(callOf('act'), never())
      .catch((error: Error) => error);
  };
  const SENTENCE = 'The MCP server odd did not answer the call in time, and was asked to cancel it';

  it.each(['read', 'idempotent'] as const)(
    'has not answered with an error, says the result of a call that is %s',
    async (effect) => {
      expect(await outcomeOf(effect)).toEqual({ content: SENTENCE, failed: true });
    },
  );

  it('may have executed it: a person decides about one that writes', async () => {
    const outcome = await outcomeOf('write');
    expect(outcome).toBeInstanceOf(ToolUncertain);
    expect(outcome).toMatchObject({ message: SENTENCE });
  });
});

describe('a server whose answer to `initialize`', () => {
  const RESULT = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } };
  const answering = (result: unknown) =>
    started(({ id, method }, response) => method === 'initialize' && reply(response, id, { result }));

  it.each<[string, object]>([
    ['has null for its instructions', { ...RESULT, instructions: null }],
    ['has a list for its instructions', { ...RESULT, instructions: ['one'] }],
    ['has no name', { ...RESULT, serverInfo: undefined }],
    ['has null for its name', { ...RESULT, serverInfo: null }],
    ['has a name without a version', { ...RESULT, serverInfo: { name: 'odd' } }],
    ['has null for a title', { ...RESULT, serverInfo: { name: 'odd', version: '1', title: null, websiteUrl: null } }],
    ['has null for its tools', { ...RESULT, capabilities: { tools: null } }],
    ['has true for its tools', { ...RESULT, capabilities: { tools: true } }],
    ['has null for what it does not have', { ...RESULT, capabilities: { tools: {}, prompts: null, logging: null, tasks: null } }],
    ['has null for its capabilities', { ...RESULT, capabilities: null }],
    ['has no capabilities', { ...RESULT, capabilities: undefined }],
    ['has no version of the protocol', { ...RESULT, protocolVersion: undefined }],
  ])('%s is connected, and has its tools', async (_what, result) => {
    const { tools, notes } = await found(overHttp((await answering(result)).url));
    expect(notes).toMatchObject([{ event: 'mcp_connected' }]);
    expect(tools.map(({ tool }) => tool)).toEqual(['act']);
  });

  it.each<[string, unknown]>([
    ['has an unknown version', { ...RESULT, protocolVersion: '1.0' }],
    ['is a text', 'hello'],
    ['is null', null],
  ])('%s is reported with a sentence', async (_what, result) => {
    const { notes } = await found(overHttp((await answering(result)).url));
    expect(notes).toMatchObject([
      { event: 'mcp_error', detail: expect.stringMatching(/^The MCP server odd cannot be reached: \w/) },
    ]);
    expect(notes[0]?.detail).not.toMatch(/[{[]|invalid_/);
  });
});

/** Starts a process that answers at once and has no tools. */
const startAnswering: StartConfined = async () => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const end = Promise.withResolvers<number>();
  stdin.on('data', (line: Buffer) => {
    const { id, method, params } = JSON.parse(line.toString());
    const facts = { protocolVersion: params?.protocolVersion, capabilities: {}, serverInfo: { name: 'odd', version: '1' } };
    if (method === 'initialize') stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: facts })}\n`);
  });
  const kill = async () => {
    stdout.end();
    end.resolve(0);
  };
  return { stdin, stdout, stderr: new PassThrough(), exit: end.promise, kill };
};

describe('a server that is not reached', () => {
  it('has as many seconds for its connection as it is given', async () => {
    const peer = await started(({ method }) => method === 'initialize');
    const { notes } = await found({ ...overHttp(peer.url), connect_seconds: 1 });
    expect(notes).toMatchObject([{ detail: 'The MCP server odd cannot be reached: it did not answer within 1 s' }]);
  });

  it('has these seconds after the installation of its package, which is reported', async () => {
    const installed = Promise.withResolvers<void>();
    const packages: McpPackages = {
      async program(_launch, _env, { onInstall } = {}) {
        onInstall?.();
        await installed.promise;
        return { command: '/package/bin/odd', own_paths: [] };
      },
    };
    const patient = openBench({ startConfined: startAnswering, packages });
    const launched = {
      ...overHttp(''),
      transport_type: 'stdio',
      connection_config: { command: 'npx', args: ['-y', 'odd@1.0.0'] },
    };
    const reports: string[] = [];
    const report = (sentence: string) => {
      reports.push(sentence);
      // Longer than the server has for its connection.
      setTimeout(installed.resolve, 3_200);
    };
    const { notes } = await found({ ...launched, connect_seconds: 3 }, { ports: patient.ports, report });
    expect(notes).toMatchObject([{ event: 'mcp_connected' }]);
    expect(reports).toEqual(['Installing odd@1.0.0 for the MCP server odd: once, which can take some minutes']);
    await patient.close();
  });

  it('because it starts too slowly is ended once it has started', async () => {
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const startSlowly: StartConfined = async (command) => {
      await started.promise;
      const { kill, ...process } = await startAnswering(command);
      return { ...process, kill: () => kill().finally(ended.resolve) };
    };
    const hasty = openBench({ startConfined: startSlowly, connect_ms: 100 });
    stops.push(hasty.close);
    const command = { ...overHttp(''), transport_type: 'stdio', connection_config: { command: 'odd' } };
    const { notes } = await found(command, { ports: hasty.ports });
    expect(notes).toMatchObject([{ event: 'mcp_error', detail: expect.stringContaining('did not answer within 0.1 s') }]);
    started.resolve();
    await ended.promise;
  });

  it.each(['http', 'sse'])('because its address is refused names the setting that allows it: %s', async (transport_type) => {
    const guarded = createGuardedFetch([]);
    const closed = openBench({ fetch: guarded.fetch });
    const { notes } = await found({ ...overHttp('http://10.1.2.3/mcp'), transport_type }, { ports: closed.ports });
    expect(notes).toMatchObject([
      {
        detail:
          'The MCP server odd cannot be reached: Connections to 10.1.2.3 are not allowed from here. The operator can allow the address with EGRESS_ALLOW',
      },
    ]);
    await closed.close();
    await guarded.close();
  });
});

describe('a run whose server is down for a moment', () => {
  /** A port that a server gets later. */
  async function reserved() {
    const peer = await startOddHttpMcpServer();
    await peer.stop();
    return peer.url;
  }
  async function startAt(url: string) {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (request.method !== 'POST') return response.writeHead(405).end();
        const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
        if (id === undefined) return response.writeHead(202).end();
        const results: Record<string, object> = {
          initialize: {
            protocolVersion: params?.protocolVersion,
            capabilities: { tools: {} },
            serverInfo: { name: 'x', version: '1' },
          },
          'tools/list': { tools: [{ name: 'act', inputSchema: { type: 'object' } }] },
        };
        return reply(response, id, { result: results[method] ?? {} });
      });
    }).listen(Number(new URL(url).port), '127.0.0.1');
    await once(server, 'listening');
    stops.push(async () => {
      server.closeAllConnections();
      server.close();
    });
    return server.address() as AddressInfo;
  }

  it('waits for it if it had its tools a short time ago', async () => {
    const server = overHttp(await reserved());
    const ports = { ...bench.ports, patience_ms: 30_000 };
    const reports: string[] = [];
    const discovery = found(server, { ports, listed: true, report: (sentence) => reports.push(sentence) });
    await found(server);
    await startAt(server.connection_config.url as string);
    expect((await discovery).tools.map(({ tool }) => tool)).toEqual(['act']);
    expect(reports).toEqual([expect.stringMatching(/^Waiting for the MCP server odd: .*ECONNREFUSED/)]);
  });

  it('continues without its tools, and reports that, once it has been down for long enough', async () => {
    const ports = { ...bench.ports, patience_ms: 1_000 };
    const { lost, notes } = await found(overHttp(await reserved()), { ports, listed: true });
    expect(lost).toMatchObject([{ server: 'odd', reason: expect.stringContaining('odd cannot be reached') }]);
    expect(notes).toMatchObject([{ event: 'mcp_error' }]);
  });
});

describe('structured content', () => {
  const text = (value: unknown) => ({ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value, null, 2) });
  it.each<[string, unknown[], unknown, string]>([
    ['a number of FastMCP', [text(5)], { result: 5 }, '5'],
    ['a text of FastMCP', [text('five')], { result: 'five' }, 'five'],
    ['a list of FastMCP', [text('a'), text('b')], { result: ['a', 'b'] }, 'a\nb'],
    [
      'a list of objects of FastMCP',
      [text({ a: 1 }), text({ a: 2 })],
      { result: [{ a: 1 }, { a: 2 }] },
      '{\n  "a": 1\n}\n{\n  "a": 2\n}',
    ],
    ['a list of FastMCP in one text', [text([1, 2])], { result: [1, 2] }, '[\n  1,\n  2\n]'],
    ['true', [text(true)], { result: true }, 'true'],
    ['keys in another order', [text('{"b":2,"a":1}')], { a: 1, b: 2 }, '{"b":2,"a":1}'],
    ['its only field', [text('The file')], { content: 'The file' }, 'The file'],
  ])('is given once: %s', (_what, content, structuredContent, result) => {
    expect(toMcpOutcome({ content, structuredContent }).content).toBe(result);
  });

  it.each<[string, unknown[], unknown, string]>([
    ['one of several fields', [text('ok')], { status: 'ok', items: [1] }, 'ok\n{"status":"ok","items":[1]}'],
    ['a list of another length', [text('a')], { result: ['a', 'b'] }, 'a\n{"result":["a","b"]}'],
    ['a summary', [text('Two items')], { items: [1, 2] }, 'Two items\n{"items":[1,2]}'],
    ['nothing', [], { result: null }, '{"result":null}'],
  ])('is given in addition to %s', (_what, content, structuredContent, result) => {
    expect(toMcpOutcome({ content, structuredContent }).content).toBe(result);
  });

  it('that is null is none', () => {
    expect(toMcpOutcome({ content: [text('a')], structuredContent: null }).content).toBe('a');
  });
});

describe('files of a result', () => {
  const PNG = Buffer.from('\x89PNG\r\n\x1a\n\xff\xef\xbe.', 'latin1');
  const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64');
  it.each<[string, object, string, string]>([
    ['an image', { type: 'image', data: PNG.toString('base64'), mimeType: 'image/png' }, 'image-1.png', 'image/png'],
    [
      'an image with a wrong type',
      { type: 'image', data: PNG.toString('base64'), mimeType: 'image/jpeg' },
      'image-1.png',
      'image/png',
    ],
    ['an image without a type', { type: 'image', data: PNG.toString('base64') }, 'image-1.png', 'image/png'],
    [
      'an image as a data URL',
      { type: 'image', data: `data:image/png;base64,${PNG.toString('base64')}` },
      'image-1.png',
      'image/png',
    ],
    [
      'an image in the alphabet of URLs, in lines',
      {
        type: 'image',
        data: `${PNG.toString('base64url').slice(0, 5)}\r\n${PNG.toString('base64url').slice(5)}`,
        mimeType: 'image/png',
      },
      'image-1.png',
      'image/png',
    ],
    ['an image that is none', { type: 'image', data: 'AAAA', mimeType: 'image/png' }, 'image-1.bin', 'application/octet-stream'],
    ['an SVG image', { type: 'image', data: SVG, mimeType: 'image/svg+xml' }, 'image-1.svg', 'image/svg+xml'],
    ['a sound', { type: 'audio', data: 'SUQzBAAA', mimeType: 'audio/mp3' }, 'audio-1.mp3', 'audio/mpeg'],
    ['a sound that is none', { type: 'audio', data: 'AAAA', mimeType: 'audio/mpeg' }, 'audio-1.bin', 'application/octet-stream'],
    [
      'a sound of a type without first bytes',
      { type: 'audio', data: 'AAAA', mimeType: 'audio/ogg; codecs=opus' },
      'audio-1.ogg',
      'audio/ogg',
    ],
    ['a sound of no type', { type: 'audio', data: 'AAAA', mimeType: '<script>' }, 'audio-1.bin', 'application/octet-stream'],
    [
      'a resource',
      { type: 'resource', resource: { uri: 'file:///a/b%20c.zip', blob: 'AAAA' } },
      'b c.zip',
      'application/octet-stream',
    ],
    [
      'a resource without a name',
      { type: 'resource', resource: { uri: 'blob:', blob: 'AAAA' } },
      'blob:',
      'application/octet-stream',
    ],
  ])('have a name and a type: %s', (_what, part, name, media_type) => {
    const { content, files } = toMcpOutcome({ content: [part] });
    expect(files).toMatchObject([{ name, media_type }]);
    expect(content).toContain(`${name}: ${media_type}, `);
  });

  it('without bytes are named, not kept', () => {
    expect(toMcpOutcome({ content: [{ type: 'image', mimeType: 'image/png' }] })).toEqual({
      content: '[image: image/png, empty]',
      failed: false,
    });
  });

  it.each(['<svg></svg>', 'https://example.com/a.png', 'AAAA=A', 'äöü'])(
    'that are not base64 are named, not kept: %s',
    (data) => {
      expect(toMcpOutcome({ content: [{ type: 'image', data, mimeType: 'image/png' }] })).toEqual({
        content: '[image: image/png, not valid base64]',
        failed: false,
      });
    },
  );

  it('beyond twenty are named, not kept', () => {
    const image = { type: 'image', data: PNG.toString('base64') };
    const { content, files } = toMcpOutcome({ content: Array.from({ length: 25 }, () => image) });
    expect(files).toHaveLength(20);
    expect(content.split('\n')).toHaveLength(25);
  });
});

it('links and texts of resources are given as they are', () => {
  const content = [
    { type: 'resource_link', name: 'Notes', uri: 'docs://notes', mimeType: 'text/markdown', description: 'All of them' },
    { type: 'resource', resource: { uri: 'docs://one', mimeType: 'text/plain', text: 'One.' } },
  ];
  expect(toMcpOutcome({ content })).toEqual({
    content: '[resource Notes: docs://notes, text/markdown, All of them]\n[resource docs://one, text/plain]\nOne.',
    failed: false,
  });
});

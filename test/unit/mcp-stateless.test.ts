import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { acceptedContent, createRequestStateCodec, inputRequired, type McpServer } from '@modelcontextprotocol/server';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { PinnedMcpServer } from '../../src/domain/definition.ts';
import type { ToolEffect } from '../../src/domain/effects.ts';
import { findOutage } from '../../src/domain/outages.ts';
import type { Answer, FormQuestion } from '../../src/domain/questions.ts';
import { isDenied } from '../../src/egress/guarded-fetch.ts';
import { resolveTarget } from '../../src/tools/mcp/config.ts';
import { connect } from '../../src/tools/mcp/connection.ts';
import { discover } from '../../src/tools/mcp/discover.ts';
import { createParamHeaders } from '../../src/tools/mcp/header-params.ts';
import { createMcpTools } from '../../src/tools/mcp/tools.ts';
import { ToolUncertain } from '../../src/tools/source.ts';
import { reply, startOddHttpMcpServer } from '../support/peers/odd-http-mcp-server.ts';
import { startStatelessMcpServer } from '../support/peers/stateless-mcp-server.ts';
import { callOf, openHttpBench, openToken, serverOf } from '../tools/support.ts';

const VERSION = '2026-07-28';
const bench = openHttpBench();
afterAll(() => bench.close());
const stops: (() => Promise<unknown>)[] = [];
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

const never = () => new AbortController().signal;
const overHttp = (url: string) => serverOf({ id: randomUUID(), name: 'new', transport_type: 'http', connection_config: { url } });
const text = (value: unknown) => ({
  content: [{ type: 'text' as const, text: typeof value === 'string' ? value : JSON.stringify(value) }],
});

async function started(...[register, options]: Parameters<typeof startStatelessMcpServer>) {
  const peer = await startStatelessMcpServer(register, options);
  stops.push(peer.stop);
  return { ...peer, server: overHttp(peer.url) };
}

const found = (server: PinnedMcpServer, { ports } = bench) =>
  discover([server], { ...ports, openToken, principal: 'local:alice', listed: new Set() }, never());

/** The tool `act` of a server. */
const toolsOf = (server: PinnedMcpServer, effect: ToolEffect = 'write', parameters: object = {}) =>
  createMcpTools(bench.ports, server, [
    { server_id: server.id, tool: 'act', spec: { name: 'act', description: '', parameters: parameters as never, effect } },
  ]);

/** A server with scripted answers, and what it was sent. */
async function scripted(answers: Record<string, (params: Params, count: number) => object>) {
  const asked: { method: string; params: Params; headers: Record<string, unknown> }[] = [];
  const peer = await startOddHttpMcpServer((message, response, { headers }) => {
    const { id, method } = message;
    const params = (message.params ?? {}) as Params;
    asked.push({ method, params, headers });
    if (method === 'server/discover')
      return reply(response, id, {
        result: { resultType: 'complete', supportedVersions: [VERSION], capabilities: { tools: {} } },
      });
    const count = asked.filter((one) => one.method === method).length;
    const answer = answers[method]?.(params, count);
    if (!answer) return reply(response, id, { error: { code: -32601, message: `no ${method}` } }, 404);
    if ('status' in answer)
      return response
        .writeHead(answer.status as number, ('headers' in answer && (answer.headers as Record<string, string>)) || {})
        .end();
    return reply(response, id, answer);
  });
  stops.push(peer.stop);
  return { server: overHttp(peer.url), asked };
}
type Params = Record<string, unknown> & { name?: string; inputResponses?: object; requestState?: string; taskId?: string };

/** Creates a person who agrees to every question. */
function createPerson() {
  let count = 0;
  const ask = async () => {
    count += 1;
    return { action: 'accept' as const, content: { ok: true } };
  };
  return { ask, countQuestions: () => count };
}

describe('a server that speaks', () => {
  const saysEra = (mcp: McpServer) => {
    mcp.registerTool('act', { description: 'Acts', annotations: { readOnlyHint: true } }, ({ mcpReq }) =>
      text(mcpReq.envelope ? 'without a handshake' : 'with a handshake'),
    );
  };

  it.each([
    ['only the new version', false],
    ['both versions', true],
  ])('%s is asked for its tools and called without a handshake', async (_what, speaks_both) => {
    const { server, requests } = await started(saysEra, { speaks_both });
    expect((await found(server)).tools).toMatchObject([{ tool: 'act', spec: { description: 'Acts', effect: 'read' } }]);
    expect(await toolsOf(server).call(callOf('act'), never())).toEqual({ content: 'without a handshake', failed: false });
    expect(requests.map((headers) => headers['mcp-method'])).toEqual(['server/discover', 'tools/list', 'tools/call']);
    expect(requests.at(-1)).toMatchObject({ 'mcp-protocol-version': VERSION, 'mcp-name': 'act' });
  });

  it.each([
    ['both versions', true, '2025-11-25', 'with a handshake'],
    ['both versions', true, '2026-07-28', 'without a handshake'],
    ['only the new version', false, '2026-07-28', 'without a handshake'],
  ])('%s (%s) is called as its protocol %s says', async (_what, speaks_both, protocol, answer) => {
    const { server } = await started(saysEra, { speaks_both });
    const chosen = { ...server, protocol };
    expect(await toolsOf(chosen).call(callOf('act'), never())).toEqual({ content: answer, failed: false });
  });

  it('only versions with a handshake is not used in another one that was chosen for it', async () => {
    const peer = await startOddHttpMcpServer();
    stops.push(peer.stop);
    const { notes } = await found({ ...overHttp(peer.url), protocol: VERSION });
    expect(notes).toMatchObject([
      { event: 'mcp_error', detail: expect.stringContaining(`does not answer in version ${VERSION}`) },
    ]);
  });

  it.each<[string, (response: ServerResponse, id: number | undefined) => unknown, string]>([
    [
      '404 of the protocol',
      (response, id) => reply(response, id, { error: { code: -32601, message: 'No' } }, 404),
      'No (HTTP 404)',
    ],
    ['a status for a bad request', (response) => response.writeHead(400).end('Not initialized'), 'Not initialized (HTTP 400)'],
    ['a page', (response) => response.end('<html>'), 'not a message of the protocol'],
  ])('refuses the chosen version with %s, which is reported with the version', async (_what, answer, reason) => {
    const peer = await startOddHttpMcpServer(({ id }, response) => answer(response, id) ?? true);
    stops.push(peer.stop);
    const [note] = (await found({ ...overHttp(peer.url), protocol: VERSION })).notes;
    expect(note?.detail).toContain(`does not answer in version ${VERSION}`);
    expect(note?.detail).toContain(reason);
  });

  it.each([
    [401, 'HTTP 401'],
    [404, 'it does not know the address (HTTP 404)'],
    [500, 'it answered: HTTP 500'],
  ])('no version, but answers with status %i, is reported with this status alone', async (status, reason) => {
    const asked: (string | undefined)[] = [];
    const notePath = (response: ServerResponse, { method }: IncomingMessage) => {
      asked.push(method);
      response.writeHead(status).end();
    };
    const peer = await startOddHttpMcpServer((_message, response, request) => notePath(response, request) ?? true, notePath);
    stops.push(peer.stop);
    const [note] = (await found({ ...overHttp(peer.url), protocol: VERSION })).notes;
    expect(note?.detail).toBe(`The MCP server new cannot be reached: ${reason}`);
    expect(asked).toEqual(['POST']);
  });

  it('nothing, because it is down, is reported as down, whatever version was chosen for it', async () => {
    const peer = await startOddHttpMcpServer();
    await peer.stop();
    const [note] = (await found({ ...overHttp(peer.url), protocol: VERSION })).notes;
    expect(note?.detail).toContain('ECONNREFUSED');
    expect(note?.detail).not.toContain(VERSION);
  });

  it.each([
    ['refused address', 'EGRESS_DENIED', isDenied],
    ['lack of open files', 'EMFILE', (error: unknown) => findOutage(error)?.code === 'too_many_open_files'],
  ])('the chosen version keeps a %s as the cause of its error', async (_what, code, isCause) => {
    const fetch = () => Promise.reject(new TypeError('fetch failed', { cause: Object.assign(new Error('no'), { code }) }));
    const target = await resolveTarget({ ...overHttp('http://127.0.0.1:1/mcp'), protocol: VERSION }, openToken);
    const ports = { startConfined: null, schemaFaults: async () => [], fetch };
    expect(isCause(await connect(target, ports, 'test').catch((error: unknown) => error))).toBe(true);
  });

  it('the new version, and fails because it cannot ask in it, is reported with the setting that helps', async () => {
    const { server } = await started((mcp) =>
      mcp.registerTool('act', {}, () => ({ ...text('elicitation is unavailable on 2026-07-28 connections'), isError: true })),
    );
    expect(await toolsOf(server).call(callOf('act'), never())).toMatchObject({
      failed: true,
      content: expect.stringContaining('set its `protocol` to 2025-11-25'),
    });
  });

  it('is sent the stable key of the call, and its progress is reported', async () => {
    const { server } = await started((mcp) =>
      mcp.registerTool('act', {}, async ({ mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken as number;
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } });
        return text(mcpReq._meta?.['perdura/call_key']);
      }),
    );
    const progress: string[] = [];
    const call = callOf('act', {}, { progress: (line) => progress.push(line) });
    expect(await toolsOf(server).call(call, never())).toEqual({ content: 'task:1-1', failed: false });
    expect(progress).toEqual(['1 of 2']);
  });

  it('only the new version receives the cancellation of a call', async () => {
    const begun = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    const { server } = await started((mcp) =>
      mcp.registerTool('act', {}, async ({ mcpReq: { signal } }) => {
        signal.addEventListener('abort', () => cancelled.resolve());
        begun.resolve();
        await wait(60_000, undefined, { signal, ref: false }).catch(() => {});
        return text('late');
      }),
    );
    const halt = new AbortController();
    const running = toolsOf(server).call(callOf('act'), halt.signal);
    await begun.promise;
    halt.abort(new Error('halted'));
    await expect(running).rejects.toThrow('halted');
    await cancelled.promise;
  });
});

describe('a person', () => {
  const schema = z.object({ email: z.string() });
  const form = { type: 'object' as const, properties: { email: { type: 'string' as const } }, required: ['email'] };
  const codec = createRequestStateCodec<{ round: number }>({ key: '0123456789abcdef0123456789abcdef' });
  const asks = (mcp: McpServer) =>
    mcp.registerTool('act', {}, async ({ mcpReq }) => {
      const answer = acceptedContent(mcpReq.inputResponses, 'who', schema);
      if (answer) return text({ ...answer, state: mcpReq.requestState() });
      if (mcpReq.inputResponses) return text('nobody answers');
      const inputRequests = { who: inputRequired.elicit({ message: 'Who?', requestedSchema: form }) };
      return inputRequired({ inputRequests, requestState: await codec.mint({ round: 1 }) });
    });
  const asking = (answer: Answer) => {
    const questions: FormQuestion[] = [];
    const ask = async (question: FormQuestion) => {
      questions.push(question);
      return answer;
    };
    return { questions, call: callOf('act', {}, { ask }) };
  };

  it('answers what a server asks with its result; the server is sent the answer with the request, and its own state', async () => {
    const { server } = await started(asks);
    const { questions, call } = asking({ action: 'accept', content: { email: 'a@b.c' } });
    const { content } = await toolsOf(server).call(call, never());
    expect(JSON.parse(content)).toEqual({ email: 'a@b.c', state: expect.stringMatching(/./) });
    expect(questions).toMatchObject([
      { message: 'Who?', asked_by: { server: 'new', host: new URL(server.connection_config.url as string).host } },
    ]);
  });

  it('may decline', async () => {
    const { server } = await started(asks);
    expect(await toolsOf(server).call(asking({ action: 'decline' }).call, never())).toEqual({
      content: 'nobody answers',
      failed: false,
    });
  });

  it('is not asked where there is none, and the model reads that', async () => {
    const { server } = await started(asks);
    expect(await toolsOf(server).call(callOf('act'), never())).toEqual({
      content: 'nobody answers\n[Perdura refused a question of the MCP server new: nobody can be asked here]',
      failed: false,
    });
  });

  const elicit = (message: string, properties: object = form.properties) => ({
    method: 'elicitation/create',
    params: { message, requestedSchema: { type: 'object', properties } },
  });
  it.each<[string, object, RegExp]>([
    ['a password', elicit('Log in', { password: { type: 'string' } }), /asks for a password/],
    ['too long a message', elicit('x'.repeat(4_001)), /message/],
    ['no form', { method: 'elicitation/create', params: { message: 'Hm?' } }, /not one of the protocol/],
    ['an address', { method: 'elicitation/create', params: { mode: 'url', message: 'Hm?', url: 'https://a.test' } }, /at a URL/],
    [
      'a model',
      { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
      /sampling\/createMessage is not offered/,
    ],
    ['nothing that is a request', null as never, /is not offered/],
  ])('is not asked for %s; the server gets no answer, and the model reads why', async (_what, request, reason) => {
    const { server, asked } = await scripted({
      'tools/call': (_params, count) => ({
        result:
          count === 1
            ? { resultType: 'input_required', inputRequests: { one: request } }
            : { resultType: 'complete', ...text('done') },
      }),
    });
    const { questions, call } = asking({ action: 'accept', content: {} });
    const { content } = await toolsOf(server).call(call, never());
    expect(content).toMatch(/^done\n\[Perdura refused a question of the MCP server new: /);
    expect(content).toMatch(reason);
    expect(questions).toEqual([]);
    expect(asked.at(-1)?.params.inputResponses).toEqual({ one: { action: 'cancel' } });
  });

  it('is asked each question of a result, and of the next result; a server without an end of questions fails', async () => {
    const { server, asked } = await scripted({
      'tools/call': (_params, count) => ({
        result: {
          resultType: 'input_required',
          inputRequests: { [`a${count}`]: elicit('A?'), [`b${count}`]: elicit('B?') },
          requestState: `${count}`,
        },
      }),
    });
    const { questions, call } = asking({ action: 'accept', content: { email: 'x' } });
    expect(await toolsOf(server).call(call, never())).toMatchObject({
      failed: true,
      content: expect.stringMatching(/still asks for more input after 20 rounds$/),
    });
    expect(questions).toHaveLength(40);
    const calls = asked.filter(({ method }) => method === 'tools/call');
    expect(calls).toHaveLength(20);
    expect(calls[2]?.params).toMatchObject({
      requestState: '2',
      inputResponses: { a2: { action: 'accept' }, b2: { action: 'accept' } },
    });
    expect(calls[2]?.params.inputResponses).not.toHaveProperty('a1');
  });

  it('decides about a call that is lost after its first result: what that began is not done twice', async () => {
    const { server, asked } = await scripted({
      'tools/call': (_params, count) =>
        count === 2
          ? { status: 404 }
          : { result: { resultType: 'input_required', inputRequests: { one: elicit('A?') }, requestState: 'x' } },
    });
    const { call } = asking({ action: 'accept', content: { email: 'x' } });
    const outcome = await toolsOf(server)
      .call(call, never())
      .catch((error: Error) => error);
    expect(outcome).toBeInstanceOf(ToolUncertain);
    expect(asked.filter(({ method }) => method === 'tools/call')).toHaveLength(2);
  });

  it('is asked at most twenty questions of a result, and the model reads at most twenty refusals of a call', async () => {
    const many = (round: number) =>
      Object.fromEntries(
        Array.from({ length: 30 }, (_, index) => [`${index}`, { method: `${round}.${index}.${'x'.repeat(5_000)}` }]),
      );
    const { server, asked } = await scripted({
      'tools/call': (_params, count) => ({
        result: count < 4 ? { resultType: 'input_required', inputRequests: many(count) } : { content: [] },
      }),
    });
    const { content } = await toolsOf(server).call(callOf('act'), never());
    expect(Object.keys(asked.at(-1)?.params.inputResponses ?? {})).toHaveLength(30);
    expect(content.match(/Perdura refused/g)).toHaveLength(20);
    expect(content.length).toBeLessThan(50_000);
    const { server: curious } = await scripted({
      'tools/call': (_params, count) => ({
        result:
          count === 1
            ? {
                resultType: 'input_required',
                inputRequests: Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${index}`, elicit('A?')])),
              }
            : { content: [] },
      }),
    });
    const { questions, call } = asking({ action: 'accept', content: { email: 'x' } });
    expect(await toolsOf(curious).call(call, never())).toMatchObject({
      content: expect.stringMatching(/asks 30 questions at once; only the first 20 are considered\]$/),
    });
    expect(questions).toHaveLength(20);
  });

  it('is asked nothing by a server that only wants to be asked again', async () => {
    const { server, asked } = await scripted({
      'tools/call': ({ requestState }) => ({
        result:
          requestState === 'x'
            ? { resultType: 'complete', ...text('done') }
            : { resultType: 'input_required', requestState: 'x' },
      }),
    });
    expect(await toolsOf(server).call(callOf('act'), never())).toMatchObject({ content: 'done' });
    expect(asked.at(-1)?.params).not.toHaveProperty('inputResponses');
  });
});

describe('a task', () => {
  const TASK = {
    taskId: 't1',
    status: 'working',
    createdAt: '2026-01-01T00:00:00Z',
    lastUpdatedAt: '2026-01-01T00:00:00Z',
    ttlMs: null,
    pollIntervalMs: 1,
  };
  const task = (values: object = {}) => ({ result: { ...TASK, resultType: 'complete', ...values } });
  const create = () => ({ result: { ...TASK, resultType: 'task' } });

  it('is asked for until it ends; what the server says about it is the progress of the call', async () => {
    const { server, asked } = await scripted({
      'tools/call': create,
      'tools/list': () => ({ result: { tools: [] } }),
      'tasks/get': (_params, count) =>
        count < 3 ? task({ statusMessage: `step ${count}` }) : task({ status: 'completed', result: text('done') }),
    });
    const progress: string[] = [];
    const call = callOf('act', {}, { progress: (line) => progress.push(line) });
    expect(await toolsOf(server).call(call, never())).toEqual({ content: 'done', failed: false });
    expect(progress).toEqual(['step 1']);
    expect(asked.filter(({ method }) => method === 'tasks/get')).toHaveLength(3);
    expect(asked.at(-1)?.headers).toMatchObject({ 'mcp-method': 'tasks/get', 'mcp-name': 't1' });
    const key = 'io.modelcontextprotocol/clientCapabilities';
    expect(asked[1]?.params._meta).toMatchObject({ [key]: { extensions: { 'io.modelcontextprotocol/tasks': {} } } });
  });

  it('may ask a person, who is asked once', async () => {
    const request = {
      method: 'elicitation/create',
      params: { message: 'Sure?', requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } } },
    };
    const { server, asked } = await scripted({
      'tools/call': create,
      'tasks/update': () => ({ result: { resultType: 'complete' } }),
      'tasks/get': (_params, count) =>
        count < 4
          ? task({ status: 'input_required', inputRequests: { sure: request } })
          : task({ status: 'completed', result: text('done') }),
    });
    const { ask, countQuestions } = createPerson();
    expect(await toolsOf(server).call(callOf('act', {}, { ask }), never())).toMatchObject({ content: 'done' });
    expect(countQuestions()).toBe(1);
    const updates = asked.filter(({ method }) => method === 'tasks/update');
    expect(updates.map(({ params }) => params)).toMatchObject([
      { taskId: 't1', inputResponses: { sure: { action: 'accept', content: { ok: true } } } },
    ]);
  });

  it.each<[string, object, string]>([
    ['fails', { status: 'failed', error: { code: -32603, message: 'The disk is full' } }, 'The disk is full'],
    ['fails without a reason', { status: 'failed' }, 'its task has failed'],
    ['is cancelled', { status: 'cancelled', statusMessage: 'by the operator' }, 'it has cancelled its task: by the operator'],
  ])('that %s is an error of the call', async (_what, values, reason) => {
    const { server } = await scripted({ 'tools/call': create, 'tasks/get': () => task(values) });
    expect(await toolsOf(server).call(callOf('act'), never())).toEqual({
      content: `The MCP server new answered with an error: ${reason}`,
      failed: true,
    });
  });

  it('that ends without its result has no answer that can be read', async () => {
    const { server } = await scripted({ 'tools/call': create, 'tasks/get': () => task({ status: 'completed', result: 'done' }) });
    const { content } = await toolsOf(server).call(callOf('act'), never());
    expect(content).toBe(
      'The MCP server new made the call, but its answer could not be read: its task has ended without a result',
    );
  });

  it('is asked for again if a request is lost', async () => {
    const { server } = await scripted({
      'tools/call': create,
      'tasks/get': (_params, count) => (count < 3 ? { status: 502 } : task({ status: 'completed', result: text('done') })),
    });
    expect(await toolsOf(server).call(callOf('act'), never())).toMatchObject({ content: 'done' });
  });

  it.each<[string, object]>([
    ['too many requests', { status: 429, headers: { 'retry-after': '3600' } }],
    ['an internal error', { error: { code: -32603, message: 'The database is busy' } }],
    ['an error that it has itself', { error: { code: -32050, message: 'Busy' } }],
    ['a page of its proxy', { result: 'busy' }],
  ])('is asked for again if a request is refused for a moment: %s', async (_what, refusal) => {
    const { server, asked } = await scripted({
      'tools/call': create,
      'tasks/get': (_params, count) => (count === 1 ? refusal : task({ status: 'completed', result: text('done') })),
    });
    expect(await toolsOf(server).call(callOf('act'), never())).toMatchObject({ content: 'done' });
    expect(asked.filter(({ method }) => method === 'tasks/get')).toHaveLength(2);
  });

  it('gets the answer of a person again if the request with it is lost', async () => {
    const params = { message: 'Sure?', requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } } };
    const inputRequests = { sure: { method: 'elicitation/create', params } };
    let has_answer = false;
    const { server } = await scripted({
      'tools/call': create,
      'tasks/update': (_params, count) => {
        has_answer = count > 1;
        return has_answer ? { result: { resultType: 'complete' } } : { status: 502 };
      },
      'tasks/get': () =>
        has_answer ? task({ status: 'completed', result: text('done') }) : task({ status: 'input_required', inputRequests }),
    });
    const { ask, countQuestions } = createPerson();
    expect(await toolsOf(server).call(callOf('act', {}, { ask }), never())).toMatchObject({ content: 'done' });
    expect(countQuestions()).toBe(1);
  });

  it('is followed to its end if another call finds meanwhile that the connection was lost', async () => {
    const polled = Promise.withResolvers<void>();
    let others = 0;
    const { server, asked } = await scripted({
      'tools/call': (_params, count) => (count === 1 ? create() : { result: text('another') }),
      'tasks/get': (_params, count) => {
        if (count === 1) return { status: 502 };
        polled.resolve();
        return others > 0 && count > 3 ? task({ status: 'completed', result: text('done') }) : task();
      },
    });
    const followed = toolsOf(server)
      .call(callOf('act'), never())
      .catch((error: Error) => error);
    await polled.promise;
    expect(await toolsOf(server).call(callOf('act'), never())).toMatchObject({ content: 'another' });
    others += 1;
    expect(await followed).toMatchObject({ content: 'done' });
    expect(asked.filter(({ method }) => method === 'server/discover')).toHaveLength(2);
  });

  it('that the server does not know any more may have had its effect: a person decides', async () => {
    const { server, asked } = await scripted({
      'tools/call': create,
      'tasks/get': () => ({ error: { code: -32602, message: 'No such task' } }),
    });
    const outcome = await toolsOf(server)
      .call(callOf('act'), never())
      .catch((error: Error) => error);
    expect(outcome).toBeInstanceOf(ToolUncertain);
    expect(outcome).toMatchObject({ message: expect.stringContaining('it does not say how its task ended: No such task') });
    expect(asked.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
  });

  it('is cancelled if the run is halted', async () => {
    const polled = Promise.withResolvers<void>();
    const { server, asked } = await scripted({
      'tools/call': create,
      'tasks/cancel': () => ({ result: { resultType: 'complete' } }),
      'tasks/get': () => {
        polled.resolve();
        return task();
      },
    });
    const halt = new AbortController();
    const running = toolsOf(server).call(callOf('act'), halt.signal);
    await polled.promise;
    halt.abort(new Error('halted'));
    await expect(running).rejects.toThrow('halted');
    await expect.poll(() => asked.at(-1)).toMatchObject({ method: 'tasks/cancel', params: { taskId: 't1' } });
  });
});

describe('an argument that a server wants as a header', () => {
  const property = (type: string, header: unknown = 'Region') => ({ type, 'x-mcp-header': header });
  const schemaOf = (properties: object) => ({ type: 'object', properties });

  it('is sent as one, too', async () => {
    const inputSchema = z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) });
    const { server, requests } = await started((mcp) => mcp.registerTool('act', { inputSchema }, ({ region }) => text(region)));
    const { tools } = await found(server);
    const outcome = await createMcpTools(bench.ports, server, tools).call(callOf('act', { region: 'Zürich' }), never());
    expect(outcome).toEqual({ content: 'Zürich', failed: false });
    expect(requests.at(-1)).toMatchObject({ 'mcp-param-region': `=?base64?${Buffer.from('Zürich').toString('base64')}?=` });
  });

  const nested = schemaOf({ place: schemaOf({ region: property('string') }), 'x-mcp-header': { type: 'string' } });
  it.each<[string, object, Record<string, unknown>, Record<string, string>]>([
    ['a text', schemaOf({ region: property('string') }), { region: 'us-west1' }, { 'Mcp-Param-Region': 'us-west1' }],
    ['within another', nested, { place: { region: 'a b' } }, { 'Mcp-Param-Region': 'a b' }],
    ['a boolean', schemaOf({ region: property('boolean') }), { region: false }, { 'Mcp-Param-Region': 'false' }],
    ['a large number', schemaOf({ region: property('integer') }), { region: JSON.rawJSON('42') }, { 'Mcp-Param-Region': '42' }],
    [
      'with blanks around it',
      schemaOf({ region: property('string') }),
      { region: ' padded ' },
      { 'Mcp-Param-Region': '=?base64?IHBhZGRlZCA=?=' },
    ],
    [
      'in two lines',
      schemaOf({ region: property('string') }),
      { region: 'line1\nline2' },
      { 'Mcp-Param-Region': '=?base64?bGluZTEKbGluZTI=?=' },
    ],
    [
      'that looks encoded',
      schemaOf({ region: property('string') }),
      { region: '=?base64?literal?=' },
      { 'Mcp-Param-Region': '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=' },
    ],
    ['null', schemaOf({ region: property('string') }), { region: null }, {}],
    ['absent', nested, {}, {}],
    [
      'absent, with the name of what every object has',
      schemaOf({ toString: property('string'), constructor: property('string', 'Maker') }),
      {},
      {},
    ],
  ])('is written as the protocol says: %s', (_what, schema, args, headers) => {
    expect(createParamHeaders(schema, args)).toStrictEqual(headers);
  });

  it.each<[string, object]>([
    ['no name of a header', schemaOf({ region: property('string', 'a b') })],
    ['no text', schemaOf({ region: property('string', 7) })],
    ['for a list', schemaOf({ region: property('array') })],
    ['for what is not an integer', schemaOf({ region: property('number') })],
    ['twice', schemaOf({ region: property('string'), other: property('string', 'REGION') })],
    ['within a list', schemaOf({ list: { type: 'array', items: property('string') } })],
    ['in one of several forms', { type: 'object', anyOf: [schemaOf({ region: property('string') })] }],
    ['in a definition', { ...schemaOf({}), $defs: { region: property('string') } }],
    ['for the whole', { ...schemaOf({}), 'x-mcp-header': 'Whole' }],
  ])('costs the tool if it is asked for in a wrong way: %s', async (_what, inputSchema) => {
    const { server } = await scripted({
      'tools/list': () => ({
        result: {
          tools: [
            { name: 'act', inputSchema },
            { name: 'good', inputSchema: schemaOf({}) },
          ],
        },
      }),
    });
    const { tools, lost } = await found(server);
    expect(tools.map(({ tool }) => tool)).toEqual(['good']);
    expect(lost).toMatchObject([{ tools: ['act'], reason: expect.stringContaining('header') }]);
  });
});

it('a server without a handshake that was not asked for a while is asked what it speaks, and its list is kept', async () => {
  const checking = openHttpBench({ check_after_ms: 0 });
  const { server, asked } = await scripted({ 'tools/list': () => ({ result: { tools: [], ttlMs: 60_000 } }) });
  for (const _ of [1, 2]) await found(server, checking);
  await checking.close();
  expect(asked.map(({ method }) => method)).toEqual(['server/discover', 'tools/list', 'server/discover']);
});

it('the list of a server without a handshake is kept for as long as the server says', async () => {
  const { server, asked } = await scripted({
    'tools/list': (_params, count) => ({
      result: { tools: [{ name: `v${count}`, inputSchema: { type: 'object' } }], ttlMs: count === 1 ? 0 : 60_000 },
    }),
  });
  const names = [await found(server), await found(server), await found(server)].map(({ tools }) => tools[0]?.tool);
  expect(names).toEqual(['v1', 'v2', 'v2']);
  expect(asked.filter(({ method }) => method === 'tools/list')).toHaveLength(2);
});

describe('what a server without a handshake answers', () => {
  it('is read part by part: one tool that is none costs only itself', async () => {
    const tools = [{ name: 'act', inputSchema: { type: 'object' }, execution: 7 }, { name: 'odd' }, 'none'];
    const { server } = await scripted({ 'tools/list': () => ({ result: { tools } }) });
    const { tools: listed, lost } = await found(server);
    expect(listed.map(({ tool }) => tool)).toEqual(['act']);
    expect(lost).toMatchObject([{ tools: ['odd'] }]);
  });

  it.each<[string, object, string]>([
    ['without a type is complete', text('done'), 'done'],
    [
      'with a kind of content that nobody knows',
      { resultType: 'complete', content: [{ type: 'smell' }] },
      '[smell content, not shown]',
    ],
    [
      'of a type that nobody knows',
      { resultType: 'partial' },
      'The MCP server new made the call, but its answer could not be read: its result has the type partial, which Perdura does not know',
    ],
  ])('is a result %s', async (_what, result, content) => {
    const { server } = await scripted({ 'tools/call': () => ({ result }) });
    expect(await toolsOf(server).call(callOf('act'), never())).toMatchObject({ content });
  });

  it('is an error that it does not know the method', async () => {
    const { server } = await scripted({});
    expect(await toolsOf(server).call(callOf('act'), never())).toEqual({
      content: 'The MCP server new answered with an error: no tools/call (HTTP 404)',
      failed: true,
    });
  });
});

import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { ToolEffect } from '../../src/domain/effects.ts';
import { discover } from '../../src/tools/mcp/discover.ts';
import { McpLost } from '../../src/tools/mcp/failures.ts';
import { waitForTask } from '../../src/tools/mcp/server-tasks.ts';
import { createMcpTools } from '../../src/tools/mcp/tools.ts';
import { ToolUncertain } from '../../src/tools/source.ts';
import { reply, startOddHttpMcpServer } from '../support/peers/odd-http-mcp-server.ts';
import { callOf, openHttpBench, openToken, serverOf } from '../tools/support.ts';

const bench = openHttpBench();
afterAll(() => bench.close());
const stops: (() => Promise<unknown>)[] = [];
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

const never = () => new AbortController().signal;
const TASK = { taskId: 't', status: 'working', pollInterval: 100, createdAt: '2026-01-01T00:00:00Z', ttl: null };
const WORKING = { result: TASK };
const COMPLETED = { result: { ...TASK, status: 'completed' } };
const FAILED = { result: { ...TASK, status: 'failed', statusMessage: 'Gave up.' } };
const RESULT = { result: { content: [{ type: 'text', text: 'done' }] } };
const DONE = { content: 'done', failed: false };

type Reply = object | ((response: ServerResponse) => unknown);

interface Script {
  capabilities?: object;
  taskSupport?: string;
  /** The answers to each method, in turn; the last is repeated. */
  answers?: Record<string, Reply[]>;
}

const WITH_TASKS = { tools: {}, tasks: { requests: { tools: { call: {} } } } };

/** Starts a server with a handshake, whose tool is executed as a task, and lists its tools. */
async function started(
  { capabilities = WITH_TASKS, taskSupport = 'required', answers = {} }: Script,
  effect: ToolEffect = 'write',
  { ports } = bench,
) {
  const asked: { method: string; params: Record<string, any> }[] = [];
  const all: Record<string, Reply[]> = { 'tools/call': [{ result: { task: TASK } }], ...answers };
  const peer = await startOddHttpMcpServer((message, response) => {
    const { id, method, params } = message;
    asked.push({ method, params: params ?? {} });
    if (method === 'server/discover') return reply(response, id, { error: { code: -32601, message: 'no' } });
    if (method === 'tools/list') {
      const annotations = effect === 'read' ? { readOnlyHint: true } : {};
      const tool = { name: 'act', inputSchema: { type: 'object' }, execution: { taskSupport }, annotations };
      return reply(response, id, { result: { tools: [tool] } });
    }
    if (method === 'initialize') {
      const { protocolVersion } = message.params!;
      return reply(response, id, { result: { protocolVersion, capabilities, serverInfo: { name: 'odd', version: '1' } } });
    }
    const left = all[method];
    if (!left) return false;
    const answer = left.length > 1 ? left.shift()! : left[0]!;
    if (typeof answer !== 'function') return reply(response, id, answer);
    answer(response);
    return true;
  });
  stops.push(peer.stop);
  const server = serverOf({ id: randomUUID(), name: 'odd', transport_type: 'http', connection_config: { url: peer.url } });
  const { tools } = await discover([server], { ...ports, openToken, principal: 'local:alice' }, never());
  const source = createMcpTools(ports, server, tools);
  const sent = (method: string) => asked.filter((one) => one.method === method);
  return { call: (more = {}, signal = never()) => source.call(callOf('act', {}, more), signal), sent };
}

describe('a tool of a server with a handshake', () => {
  it('that needs a task is executed as one', async () => {
    const { call, sent } = await started({
      answers: { 'tasks/get': [{ result: { ...TASK, statusMessage: 'Half.' } }, COMPLETED], 'tasks/result': [RESULT] },
    });
    const progress: string[] = [];
    expect(await call({ progress: (text: string) => progress.push(text) })).toEqual(DONE);
    expect(progress).toEqual(['Half.']);
    expect(sent('tools/call')).toMatchObject([{ params: { task: { ttl: expect.any(Number) } } }]);
    expect(sent('tasks/result')).toMatchObject([{ params: { taskId: 't' } }]);
  });

  it('that needs a task is answered with it in the manner of FastMCP 2.14, too', async () => {
    const result = { content: [], _meta: { 'modelcontextprotocol.io/task': { taskId: 't', status: 'working' } } };
    const { call } = await started({
      answers: { 'tools/call': [{ result }], 'tasks/get': [COMPLETED], 'tasks/result': [RESULT] },
    });
    expect(await call()).toEqual(DONE);
  });

  it.each<[string, Script]>([
    ['may, but need not be executed as a task', { taskSupport: 'optional' }],
    ['must not be executed as a task', { taskSupport: 'forbidden' }],
    ['belongs to a server without tasks', { capabilities: { tools: {} } }],
    ['belongs to a server that takes no calls as tasks', { capabilities: { tools: {}, tasks: { list: {}, requests: {} } } }],
  ])('that %s is called as usual', async (_what, script) => {
    const { call, sent } = await started({ ...script, answers: { 'tools/call': [RESULT] } });
    expect(await call()).toEqual(DONE);
    expect(sent('tools/call')[0]!.params).not.toHaveProperty('task');
  });

  it('whose server answers with the result at once has it', async () => {
    const { call } = await started({ answers: { 'tools/call': [RESULT] } });
    expect(await call()).toEqual(DONE);
  });

  it.each<[string, Reply, string]>([
    ['the error of its call', { error: { code: -32603, message: 'No such city.' } }, 'No such city.'],
    ['a result that is an error', { result: { isError: true, content: [{ type: 'text', text: 'No city.' }] } }, 'No city.'],
  ])('whose task fails has %s', async (_what, answer, sentence) => {
    const { call } = await started({ answers: { 'tasks/get': [FAILED], 'tasks/result': [answer] } });
    expect(await call()).toMatchObject({ failed: true, content: expect.stringContaining(sentence) });
  });

  it('whose task is cancelled by the server has failed', async () => {
    const { call } = await started({ answers: { 'tasks/get': [{ result: { ...TASK, status: 'cancelled' } }] } });
    expect(await call()).toMatchObject({ failed: true, content: expect.stringContaining('it has cancelled its task') });
  });

  it('whose result is lost once is asked for it again', async () => {
    const breaks = (response: ServerResponse) => response.destroy();
    const { call, sent } = await started({ answers: { 'tasks/get': [COMPLETED], 'tasks/result': [breaks, RESULT] } });
    expect(await call()).toEqual(DONE);
    expect(sent('tools/call')).toHaveLength(1);
  });

  it('whose task waits for input is asked for its result until that is not lost', async () => {
    const asking = { result: { ...TASK, status: 'input_required' } };
    const breaks = (response: ServerResponse) => response.destroy();
    const { call, sent } = await started({
      answers: { 'tasks/get': [asking, asking, asking, COMPLETED], 'tasks/result': [breaks, RESULT] },
    });
    expect(await call()).toEqual(DONE);
    expect(sent('tasks/result')).toHaveLength(2);
  });

  it('whose server does not know the completed task any more may have had its effect: a person decides', async () => {
    const unknown = { error: { code: -32602, message: 'Task not found' } };
    const { call } = await started({ answers: { 'tasks/get': [COMPLETED], 'tasks/result': [unknown] } });
    await expect(call()).rejects.toThrow(ToolUncertain);
  });

  it('whose failed task is not known any more was executed: it is not called again', async () => {
    const { call, sent } = await started({
      answers: { 'tasks/get': [FAILED], 'tasks/result': [(response) => response.writeHead(404).end()] },
    });
    await expect(call()).rejects.toThrow(ToolUncertain);
    expect(sent('tools/call')).toHaveLength(1);
  });

  it('whose connection is closed while its task is in progress may have had its effect, with the reason of the loss', async () => {
    const ended = new AbortController();
    const lost = new McpLost('it ended', { sent: true });
    const waiting = waitForTask(
      {
        send: () => Promise.reject(lost),
        answer: async () => null,
        onprogress: () => {},
        cancel: () => {},
        isClosed: () => true,
        ended: ended.signal,
      },
      { taskId: 't', status: 'working', pollIntervalMs: 100 },
    );
    await expect(waiting).rejects.toMatchObject({ message: 'it ended', sent: true });
  });

  it('whose task has no id has no answer that can be read', async () => {
    const { call } = await started({ answers: { 'tools/call': [{ result: { task: { status: 'working' } } }] } });
    expect((await call()).content).toMatch(/could not be read: it answered with a task without an id$/);
  });

  it('whose task is silent for too long did not answer in time', async () => {
    const quick = openHttpBench({ call_ms: 300 });
    stops.push(quick.close);
    const slow = { result: { task: { ...TASK, pollInterval: 30_000 } } };
    const { call, sent } = await started({ answers: { 'tools/call': [slow] } }, 'write', quick);
    await expect(call()).rejects.toThrow('The MCP server odd did not answer the call in time, and was asked to cancel it');
    await expect.poll(() => sent('tasks/cancel')).toHaveLength(1);
  });

  it('has its task cancelled by a halt', async () => {
    const halt = new AbortController();
    const { call, sent } = await started({
      answers: {
        'tasks/get': [
          (response) => {
            reply(response, 0, WORKING);
            halt.abort(new Error('halted'));
          },
        ],
      },
    });
    await expect(call({}, halt.signal)).rejects.toThrow('halted');
    await expect.poll(() => sent('tasks/cancel')).toMatchObject([{ params: { taskId: 't' } }]);
  });
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApplicationFailure } from '@temporalio/activity';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { logFault, refuseInOurWords } from '../../src/api/http/problems.ts';
import { compat } from '../../src/contracts/compat.ts';
import { mcps } from '../../src/contracts/mcps.ts';
import { models } from '../../src/contracts/models.ts';
import { AppError } from '../../src/domain/errors.ts';
import { OutageError } from '../../src/domain/outages.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { asks, fails, hangs } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(() => here?.stop());

/** A run that fails at its model, and one with a call whose MCP server cannot be reached. */
async function failingRuns() {
  const workflow_id = await here.workflow();
  here.model.script(fails(400, { message: 'no such\n    at fake (stack)' }));
  const failed = await here.ended(await here.prompt(workflow_id), 60_000);
  expect(failed.status).toBe('failed');
  const agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).agent_id;
  const url = 'http://127.0.0.1:9/mcp';
  const server = await here.alice.ok(
    here.alice.post('/api/mcps', { name: `gone ${workflow_id}`, transport_type: 'http', connection_config: { url } }),
  );
  await here.alice.ok(
    here.alice.put(`/api/agents/${agent_id}`, { mcp_server_ids: [server.id], required_mcp_servers: [server.id] }),
  );
  const lost = await here.ended(await here.prompt(workflow_id), 60_000);
  expect(lost.status).toBe('failed');
  return { failed, lost };
}

/** Node warns of something as soon as someone listens. */
const WARN = "process.on('newListener', (name) => name === 'warning' && setImmediate(() => process.emitWarning('said by Node')))";
const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(WARN)}`;

const linesOf = (worker: Child) => worker.output().split('\n').filter(Boolean);

async function workerWith(env: Record<string, string>) {
  const worker = await startWorkerProcess(here.setting, env);
  const runs = await failingRuns();
  await worker.end('SIGTERM');
  await worker.closed;
  return { worker, ...runs };
}

describe('a worker whose runs fail by their model or MCP server', () => {
  it('prints one line of text for each, with run, step and cause', { timeout: 120_000 }, async () => {
    const { worker, failed, lost } = await workerWith({ LOG_FORMAT: 'text' });
    const about = (id: string) => linesOf(worker).filter((line) => line.includes(id));
    expect(about(failed.id).join('\n')).toContain('Step 1 failed: ');
    expect(about(failed.id)[0]).toContain('no such');
    expect(about(lost.id).join('\n')).toMatch(/Step 1 failed.*: mcp/);
    expect(worker.output()).not.toMatch(/^\s+at |taskToken|task_token/m);
    // A start, an end, and each failure of a step and of its run.
    expect(linesOf(worker).length).toBeLessThan(10);
  });

  it('prints only JSON if the log is JSON', { timeout: 120_000 }, async () => {
    const { worker, failed } = await workerWith({ NODE_ENV: 'production', LOG_FORMAT: 'json', NODE_OPTIONS });
    const parsed = linesOf(worker).map((line) => JSON.parse(line));
    const [line] = parsed.filter(({ task_id, step }) => task_id === failed.id && step === 1);
    expect(line).toMatchObject({ level: 'warn', msg: expect.stringContaining('no such') });
    expect(line).not.toHaveProperty('err');
    expect(parsed.map(({ msg }) => msg)).toContainEqual(expect.stringContaining('said by Node'));
    expect(worker.output()).not.toContain('taskToken');
  });

  it('prints what the native part of the SDK logs as JSON, too', { timeout: 120_000 }, async () => {
    const setting = { ...here.setting, temporal_address: '127.0.0.1:9' };
    const worker = startWorkerProcess(setting, { LOG_FORMAT: 'json' }).catch((error: Error) => error.message);
    const [, ...printed] = String(await worker)
      .split('\n')
      .filter(Boolean);
    expect(printed.length).toBeGreaterThan(0);
    expect(printed.map((line) => JSON.parse(line).level)).toContain('error');
  });
});

describe('a worker whose runs are halted', () => {
  it('prints a calm line for the step or the call, and nothing about a failure', { timeout: 120_000 }, async () => {
    const worker = await startWorkerProcess(here.setting, { LOG_FORMAT: 'json', NODE_ENV: 'production' });
    const haltedWhen = async (workflow_id: string, event: (frame: { type: string; data: Record<string, any> }) => boolean) => {
      const task_id = await here.prompt(workflow_id);
      await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, { enough: event, timeout_ms: 60_000 });
      await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`), 202);
      expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'halted' });
      return task_id;
    };
    here.model.script(hangs('Let me think'));
    const step = await haltedWhen(await here.workflow(), ({ type }) => type === 'message_delta');
    here.model.script(asks({ name: 'bash', args: { command: 'sleep 25' }, id: 'call_1' }));
    const bash = await here.workflow({ agent: { builtin_tools: ['bash'] } });
    const call = await haltedWhen(bash, ({ data }) => data.event === 'tool_call');
    await worker.end('SIGTERM');
    await worker.closed;
    const about = (id: string) =>
      linesOf(worker)
        .map((line) => JSON.parse(line))
        .filter(({ task_id }) => task_id === id)
        .map(({ level, msg }) => `${level} ${msg}`);
    expect(about(step)).toEqual(['info Step 1 stopped: the run was halted']);
    expect(about(call)).toEqual([expect.stringMatching(/^info The call \S+ stopped: the run was halted$/)]);
    expect(worker.output()).not.toMatch(/[Ff]ailed/);
  });
});

/** A server that answers everything with 502, in several lines. */
async function startFailing() {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(502, { 'content-type': 'text/plain' }).end('no such\n    at fake (stack)');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe('an API whose upstream servers fail', () => {
  let api: TestInstallation;
  let failing: Awaited<ReturnType<typeof startFailing>>;
  const lines: string[] = [];
  beforeAll(async () => {
    failing = await startFailing();
    api = await startTestInstallation({ env: { LOG_LEVEL: 'info' }, log: (line) => lines.push(line) });
  });
  afterAll(async () => {
    failing.stop();
    await api?.stop();
  });

  let made = 0;
  async function serverOf(transport_type: string) {
    const values = { name: `failing ${++made}`, transport_type, connection_config: { url: `${failing.url}/mcp` } };
    return api.alice.ok(api.alice.post('/api/mcps', values));
  }
  async function refreshed(transport_type: string) {
    const { id, name } = await serverOf(transport_type);
    return { answer: await api.alice.post(`/api/mcps/${id}/tools/refresh`), names: name };
  }
  async function listed() {
    const { id, name } = await serverOf('http');
    await api.alice.post(`/api/mcps/${id}/test`);
    return { answer: await api.alice.get(`/api/mcps/${id}/tools`), names: name };
  }
  async function beginsSignIn() {
    const { id, name } = await serverOf('http');
    return { answer: await api.alice.post(`/api/mcps/${id}/sign-in`), names: name };
  }
  async function listsModels() {
    const values = { name: `failing ${++made}`, provider_type: 'openai_compatible', base_url: failing.url, default_model: 'm' };
    const { id } = await api.alice.ok(api.alice.post('/api/providers', values));
    return { answer: await api.alice.get(`/api/models?provider_id=${id}`), names: '502' };
  }
  async function completes() {
    const failure = fails(502, { message: 'no such\n    at fake (stack)' });
    api.model.script(failure, failure, failure);
    const body = { model: await api.workflow(), messages: [{ role: 'user', content: 'Hello.' }] };
    return { answer: await api.alice.post('/v1/chat/completions', body), names: 'no such at fake (stack)' };
  }
  const REQUESTS: [string, () => Promise<{ answer: { status: number }; names: string }>][] = [
    [mcps.refreshTools.operation, () => refreshed('http')],
    [`${mcps.refreshTools.operation} by the older transport`, () => refreshed('sse')],
    [mcps.tools.operation, listed],
    [mcps.beginSignIn.operation, beginsSignIn],
    [models.list.operation, listsModels],
    [compat.chat.operation, completes],
  ];

  it.each(REQUESTS)('%s prints one line with the server and the cause', { timeout: 60_000 }, async (_, request) => {
    const before = lines.length;
    const { answer, names } = await request();
    expect(answer).toMatchObject({ status: 502 });
    const found = lines
      .slice(before)
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg.startsWith('request failed'));
    expect(found).toEqual([expect.objectContaining({ level: 'warn', msg: expect.stringContaining(names) })]);
    expect(found[0]).not.toHaveProperty('err');
    expect(found[0].msg).not.toContain('\n');
    expect(found[0].error_code).toMatch(/^\w+$/);
  });
});

describe('what a request or stream failed with', () => {
  async function lineOf(error: Error): Promise<Record<string, any>> {
    const printed: string[] = [];
    const http = Fastify({ logger: { stream: { write: (line: string) => void printed.push(line) } } });
    refuseInOurWords(http);
    http.get('/', () => Promise.reject(error));
    await http.inject('/');
    logFault(http.log, error, 'a stream failed');
    const found = printed.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes(' failed'));
    expect(new Set(found.map(({ msg }) => msg.replace(/^(?:request|a stream) failed/, ''))).size).toBe(1);
    return found[0];
  }

  it.each(['upstream', 'unavailable'] as const)('is one line if it is foreseen: %s', async (kind) => {
    const line = await lineOf(new AppError(kind, 'Said by\n a server', { cause: new TypeError('theirs') }));
    expect(line).toMatchObject({ msg: 'request failed: Said by a server', error_code: kind });
    expect(line).not.toHaveProperty('err');
  });

  it('is one line if the installation lacks something', async () => {
    const line = await lineOf(new OutageError({ code: 'disk_full', sentence: 'It is full' }, new Error('of a disk')));
    expect(line).toMatchObject({ msg: 'request failed: It is full: of a disk', error_code: 'disk_full' });
    expect(line).not.toHaveProperty('err');
  });

  it.each([new TypeError('of ours'), ApplicationFailure.nonRetryable('of ours')])('keeps the stack of %s', async (error) => {
    expect((await lineOf(error)).err.stack).toContain('log-lines.test.ts');
  });
});

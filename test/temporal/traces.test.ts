import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { toRunId } from '../../src/temporal/names.ts';
import { workflowBundle as workflowBundleOf } from '../../src/temporal/worker/bundle.ts';
import type { Client } from '../support/client.ts';
import { helpers, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startApiProcess, startWorkerProcess } from '../support/machine/processes.ts';
import { type Exported, startCollector } from '../support/peers/collector.ts';
import { asks, fails, says } from '../support/peers/model-server.ts';
import { startReceiver } from '../support/peers/receiver.ts';
import { HISTORIES } from '../support/runs/recorded-history.ts';
import { until } from '../support/until.ts';

const PROMPT = 'a-prompt-that-stays-here';
const ANSWER = 'an-answer-that-stays-here';
const RESULT = 'a-result-that-stays-here';
const KEY = 'sk-key-of-the-provider-7153';
const HOOK = 'secret-path-of-the-receiver';
const LOOK = `EFFECT = "read"\ndef look(where: str) -> str:\n    return "${RESULT}"\n`;

let here: TestInstallation;
let collector: Awaited<ReturnType<typeof startCollector>>;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let api: Child;
let worker: Child;
let client: Client;
let token: string;
let person: ReturnType<typeof helpers>;

beforeAll(async () => {
  collector = await startCollector();
  receiver = await startReceiver();
  here = await startTestInstallation({ worker: false });
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    LOG_LEVEL: 'info',
  };
  ({ api, client, token } = await startApiProcess(here.setting, { ...env, OTEL_SERVICE_NAME: 'the-api' }));
  worker = await startWorkerProcess(here.setting, { ...env, OTEL_SERVICE_NAME: 'the-worker' });
  person = helpers(client, here.model, 'traced ');
}, 120_000);
afterAll(async () => {
  await worker?.end('SIGKILL');
  await api?.end('SIGKILL');
  await here?.stop();
  await receiver?.stop();
  await collector?.stop();
});

/** A caller's own trace. */
function callersTrace() {
  const [trace_id, span_id] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { trace_id, span_id, headers: { traceparent: `00-${trace_id}-${span_id}-01`, baggage: `for=${HOOK}` } };
}

const spansOf = (trace_id: string) => collector.spans.filter((span) => span.trace_id === trace_id);
const named = (spans: Exported[], name: string | RegExp) =>
  spans.find((span) => (typeof name === 'string' ? span.name === name : name.test(span.name)));

/** The spans of a trace once its run was exported. */
const wholeTrace = (trace_id: string, name: RegExp = /^invoke_agent/) =>
  until(`the trace has ${name}`, async () => named(spansOf(trace_id), name) && spansOf(trace_id), 30_000);

/** The names of a span and of all spans around it, the outermost last. */
function pathOf(spans: Exported[], span: Exported | undefined): string[] {
  if (!span) return [];
  return [
    span.name,
    ...pathOf(
      spans,
      spans.find(({ span_id }) => span_id === span.parent_id),
    ),
  ];
}

/** Waits until the outermost span around the call of the model is this one. */
const beginsWith = (trace_id: string, name: string) =>
  expect.poll(() => pathOf(spansOf(trace_id), named(spansOf(trace_id), /^chat /)).at(-1), { timeout: 30_000 }).toBe(name);

async function tracedRun() {
  const tokens = await client.ok(client.post('/api/tokens', { name: `key${randomBytes(3).toString('hex')}`, value: KEY }));
  const provider = {
    ...{ name: `kept ${randomBytes(3).toString('hex')}`, provider_type: 'openai_compatible', base_url: here.model.url },
    ...{ default_model: 'scripted', api_key_token_name: tokens.name },
  };
  const { id: provider_id } = await client.ok(client.post('/api/providers', provider));
  const workflow_id = await person.workflow({
    agent: { provider_id },
    workflow: { webhook_url: `${receiver.url}/${HOOK}?token=${HOOK}` },
    tools: [LOOK],
  });
  const look = (await client.ok(client.get('/api/custom-tools'))).find(({ name }: { name: string }) =>
    name.endsWith('look'),
  ).name;
  here.model.script(asks({ name: look, args: { where: PROMPT } }), says(ANSWER));
  const caller = callersTrace();
  const sent = client.post(`/api/workflows/${workflow_id}/prompt`, { prompt: PROMPT }, caller.headers);
  const { task_id } = await client.ok(sent, 201);
  expect(await person.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: ANSWER });
  await until('the webhook', async () => receiver.received.length > 0);
  return { caller, task_id, workflow_id, look };
}

describe('a traced run', { timeout: 120_000 }, () => {
  it('is one trace from the caller over API, workflow and activities to model, tool and webhook', async () => {
    const { caller, task_id, workflow_id, look } = await tracedRun();
    const spans = await wholeTrace(caller.trace_id);
    const chat = named(spans, /^chat /);
    const path = pathOf(spans, chat);
    expect(path).toEqual([
      'chat scripted',
      'RunActivity:exchange',
      'StartActivity:exchange',
      expect.stringMatching(/^invoke_agent traced agent/),
      'StartWorkflow:agentRun',
      expect.any(String),
      'POST /api/workflows/:id/prompt',
    ]);
    expect(named(spans, 'POST /api/workflows/:id/prompt')).toMatchObject({ parent_id: caller.span_id, kind: 2 });
    expect(pathOf(spans, named(spans, `execute_tool ${look}`)).slice(1, 3)).toEqual([
      'RunActivity:callTool',
      'StartActivity:callTool',
    ]);
    expect(named(spans, /^invoke_agent/)?.attributes).toMatchObject({
      ...{ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.conversation.id': workflow_id },
    });
    expect(chat).toMatchObject({
      kind: 3,
      attributes: {
        ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.response.model': 'scripted', 'perdura.task_id': task_id },
        ...{ 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 5, 'gen_ai.response.finish_reasons': ['tool_calls'] },
      },
      resource: { 'service.name': 'the-worker', 'deployment.environment.name': 'test' },
    });
    expect(named(spans, 'POST /api/workflows/:id/prompt')?.resource).toMatchObject({ 'service.name': 'the-api' });
  });

  it('continues in what it calls: the model and the receiver get its traceparent, and nothing else of the caller', async () => {
    const seen = receiver.received.length;
    const { caller } = await tracedRun();
    const goesOn = new RegExp(`^00-${caller.trace_id}-[0-9a-f]{16}-01$`);
    expect(here.model.requests.slice(-2).map(({ traceparent }) => traceparent)).toEqual([
      expect.stringMatching(goesOn),
      expect.stringMatching(goesOn),
    ]);
    await until('the webhook', async () => receiver.received.length > seen);
    expect(receiver.received.at(-1)!.headers.traceparent).toMatch(goesOn);
    expect(receiver.received.at(-1)!.headers).not.toHaveProperty('baggage');
  });

  it('has no content, no secret and no address with its path', async () => {
    const { caller } = await tracedRun();
    await wholeTrace(caller.trace_id, /^RunActivity:deliver$/);
    const text = collector.text();
    for (const kept of [PROMPT, ANSWER, RESULT, KEY, HOOK, token, 'Bearer', '/chat/completions'])
      expect(text.includes(kept), kept).toBe(false);
  });

  it('says what failed, not in which words', async () => {
    const words = 'words-of-the-provider';
    here.model.script(fails(400, { message: words }));
    const caller = callersTrace();
    const workflow_id = await person.workflow();
    const { task_id } = await client.ok(
      client.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'x' }, caller.headers),
      201,
    );
    expect(await person.ended(task_id, 60_000)).toMatchObject({ status: 'failed' });
    const spans = await wholeTrace(caller.trace_id);
    expect(named(spans, /^chat /)).toMatchObject({ status: 2, attributes: { 'error.type': expect.stringMatching(/^\w+$/) } });
    expect(collector.text()).not.toContain(words);
  });

  it('begins in the same way over /v1 and /mcp', async () => {
    const workflow_id = await person.workflow({ workflow: { title: 'Traced' } });
    here.model.script(says('One.'));
    const one = callersTrace();
    const asked = { model: workflow_id, messages: [{ role: 'user', content: 'x' }] };
    await client.ok(client.post('/v1/chat/completions', asked, one.headers));
    await beginsWith(one.trace_id, 'POST /v1/chat/completions');
    here.model.script(says('Two.'));
    const two = callersTrace();
    const mcp = new McpClient({ name: 'test', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${token}`, ...two.headers } };
    await mcp.connect(new StreamableHTTPClientTransport(new URL(`${client.url}/mcp`), { requestInit }) as never);
    await mcp.callTool({ name: `Traced_${workflow_id.slice(-8)}`, arguments: { prompt: 'x' } });
    await mcp.close();
    await beginsWith(two.trace_id, 'POST /mcp');
  });

  it('is understood by a worker without traces', async () => {
    const { caller, task_id } = await tracedRun();
    await wholeTrace(caller.trace_id);
    const { events } = await here.driver.client.workflow.getHandle(toRunId(task_id)).fetchHistory();
    const workflowBundle = await workflowBundleOf(inject('cache_dir'));
    const replayed = Worker.runReplayHistory({ workflowBundle }, { events });
    await expect(replayed).resolves.toBeUndefined();
  });

  it('is named by the lines of the log, with the request', async () => {
    const caller = callersTrace();
    await client.get('/api/agents', { ...caller.headers, 'x-request-id': 'find-me' });
    const line = await until('the line', async () =>
      api
        .output()
        .split('\n')
        .find((each) => each.includes('find-me') && each.includes('request completed')),
    );
    expect(JSON.parse(line)).toMatchObject({ reqId: 'find-me', trace_id: caller.trace_id });
  });

  it('is lost while the collector is down, which the log reports, and nothing waits for it', async () => {
    const nowhere = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_BSP_SCHEDULE_DELAY: '100' };
    const { api: alone, client: other } = await startApiProcess(here.setting, nowhere);
    expect((await other.get('/api/agents')).status).toBe(200);
    await alone.prints(/Traces are not sent \(.*ECONNREFUSED.*\): look at OTEL_EXPORTER_OTLP_ENDPOINT/);
    expect(await alone.end('SIGTERM')).toBe(0);
  });

  it('leaves out probes', async () => {
    await client.get('/health/ready');
    await client.get('/metrics');
    await person.workflow();
    await until('later spans', async () => named(collector.spans, 'POST /api/workflows'));
    expect(collector.spans.filter(({ name }) => /health|metrics/.test(name))).toEqual([]);
  });
});

describe('a run that began without traces', async () => {
  const INTERCEPTORS = '@temporalio/interceptors-opentelemetry/lib/workflow-interceptors.js';
  it.each(await readdir(HISTORIES))('continues after they were turned on: %s', async (file) => {
    const history: unknown = JSON.parse(await readFile(join(HISTORIES, file), 'utf8'));
    const interceptors = [createRequire(import.meta.url).resolve(INTERCEPTORS)];
    const sinks = { exporter: { export: { fn: () => {} } } };
    const workflowBundle = await workflowBundleOf(inject('cache_dir'), interceptors);
    await Worker.runReplayHistory({ workflowBundle, sinks }, history);
  });
});

import { setTimeout as wait } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { APIError, OpenAI } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ChatCompletion,
  ChatCompletionChunk,
  CompatModels,
  ModelResponse,
  ModelResponseEvent,
  OpenAIError,
} from '../../src/contracts/compat.ts';
import { framesIn } from '../support/client.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { hangs, says } from '../support/peers/model-server.ts';
import { openaiAt } from '../support/peers/openai.ts';

let here: TestInstallation;
let openai: OpenAI;
beforeAll(async () => {
  here = await shareInstallation();
  openai = openaiAt(here.url, here.people.alice.token);
});
afterAll(() => here.stop());

const tasksOf = async (workflow_id: string) =>
  (await here.alice.ok(here.alice.get(`/api/tasks?workflow_id=${workflow_id}`))) as unknown as { id: string; status: string }[];
const messages = (content: string) => [{ role: 'user' as const, content }];

describe('an Idempotency-Key at the door for OpenAI clients', () => {
  it('has a repeated completion answered from the same run, streamed too', async () => {
    const model = await here.workflow();
    here.model.script(says('Once.'), says('Streamed once.'));
    const again = { headers: { 'idempotency-key': 'completion-1' } };
    const first = await openai.chat.completions.create({ model, messages: messages('x') }, again);
    const { data, response } = await openai.chat.completions.create({ model, messages: messages('x') }, again).withResponse();
    expect([data.id, data.choices[0]?.message.content]).toEqual([first.id, 'Once.']);
    expect(response.headers.get('idempotent-replayed')).toBe('true');
    const stream = { headers: { 'idempotency-key': 'completion-2' } };
    for (const _ of ['first', 'second']) {
      let text = '';
      const chunks = await openai.chat.completions.create({ model, messages: messages('y'), stream: true }, stream);
      for await (const chunk of chunks) text += chunk.choices[0]?.delta.content ?? '';
      expect(text).toBe('Streamed once.');
    }
    expect(await tasksOf(model)).toHaveLength(2);
  });

  it('returns the running response when it is requested again, also for an agent addressed by name', async () => {
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`));
    const { name: model } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    const repeated = Promise.withResolvers<void>();
    here.model.script(says('Slow answer here.', { until: repeated.promise }));
    const again = { headers: { 'idempotency-key': 'response-1' } };
    const order = { model, input: 'x', background: true };
    const { id } = await openai.responses.create(order, again);
    expect((await openai.responses.create(order, again)).id).toBe(id);
    repeated.resolve();
    expect(await here.ended(id.replace('resp_', ''))).toMatchObject({ status: 'completed' });
  });

  it('is refused with another body, as everywhere', async () => {
    const model = await here.workflow();
    here.model.script(says('Once.'));
    const again = { headers: { 'idempotency-key': 'completion-3' } };
    await openai.chat.completions.create({ model, messages: messages('x') }, again);
    const refused = openai.chat.completions.create({ model, messages: messages('other') }, again);
    expect(await refused.catch((error: APIError) => error)).toMatchObject({ status: 409, code: 'idempotency_key_reused' });
  });
});

describe('a call at the door for MCP clients', () => {
  async function connected() {
    const client = new Client({ name: 'test', version: '1' });
    const transport = new StreamableHTTPClientTransport(new URL(`${here.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${here.people.alice.token}` } },
    });
    await client.connect(transport as never);
    return { client, transport };
  }
  const toolOf = async (client: Client, workflow_id: string) =>
    (await client.listTools()).tools.find(({ name }) => name.endsWith(workflow_id.slice(-8)))?.name ?? '';
  const begun = async (workflow_id: string) => {
    await expect.poll(async () => (await tasksOf(workflow_id))[0]?.status).toBe('running');
    return (await tasksOf(workflow_id))[0]!.id;
  };

  it('halts its run when it is cancelled, and no other one', async () => {
    const [cancelled, other] = [await here.workflow(), await here.workflow()];
    here.model.script(hangs('Some'), hangs('Other'));
    const [one, two] = [await connected(), await connected()];
    const abort = new AbortController();
    const call = one.client.callTool({ name: await toolOf(one.client, cancelled), arguments: { prompt: 'x' } }, undefined, {
      signal: abort.signal,
    });
    const given_up = call.catch((error: Error) => error);
    const task_id = await begun(cancelled);
    // Another session of the same caller counts its requests alike.
    const kept = two.client.callTool({ name: await toolOf(two.client, other), arguments: { prompt: 'x' } }).catch(() => null);
    const kept_id = await begun(other);
    abort.abort('no longer needed');
    expect(await given_up).toBeInstanceOf(Error);
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
    expect(await here.alice.ok(here.alice.get(`/api/tasks/${kept_id}`))).toMatchObject({ status: 'running' });
    await here.alice.ok(here.alice.post(`/api/tasks/${kept_id}/stop`));
    await kept;
    await Promise.all([one.client.close(), two.client.close()]);
  });

  it('is out of reach of another user who knows its session and its id', async () => {
    const workflow_id = await here.workflow();
    here.model.script(hangs('Her answer'));
    const { client, transport } = await connected();
    const name = await toolOf(client, workflow_id);
    const post = (token: string, message: object, session_id = transport.sessionId ?? '') =>
      fetch(`${here.url}/mcp`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${token}`, 'mcp-session-id': session_id },
          ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      }).then((answer) => answer.text());
    const call = { id: 78, method: 'tools/call', params: { name, arguments: { prompt: 'x' } } };
    const hers = post(here.people.alice.token, call);
    const task_id = await begun(workflow_id);
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 78 } };
    await post(here.people.bob.token, cancelled);
    await post(here.people.alice.token, cancelled, '');
    await post(here.people.alice.token, { ...cancelled, params: {} });
    const repeated = await post(here.people.bob.token, call);
    expect(repeated).toContain('There is no tool named');
    expect(repeated).not.toContain('Her answer');
    // A halt would have reached it by now.
    await wait(1_000);
    expect(await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).toMatchObject({ status: 'running' });
    await post(here.people.alice.token, cancelled);
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
    await hers;
    await client.close();
  });

  it('does not stop its run when the connection is lost, and returns that run when it is repeated', async () => {
    const workflow_id = await here.workflow();
    const gone_away = Promise.withResolvers<void>();
    here.model.script(says('A long answer it is.', { until: gone_away.promise }));
    const { client, transport } = await connected();
    const name = await toolOf(client, workflow_id);
    const gone = new AbortController();
    const call = (signal?: AbortSignal) =>
      fetch(`${here.url}/mcp`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${here.people.alice.token}`, 'mcp-session-id': transport.sessionId ?? '' },
          ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 77, method: 'tools/call', params: { name, arguments: { prompt: 'x' } } }),
        ...(signal ? { signal } : {}),
      });
    const first = call(gone.signal).then(
      (answer) => answer.text(),
      (error: Error) => error,
    );
    const task_id = await begun(workflow_id);
    gone.abort();
    expect(await first.catch((error: Error) => error)).toBeInstanceOf(Error);
    gone_away.resolve();
    expect(await (await call()).text()).toContain('A long answer it is.');
    expect((await tasksOf(workflow_id)).map(({ id, status }) => [id, status])).toEqual([[task_id, 'completed']]);
    await client.close();
  });
});

it('the doors are described, with an example of each body, their streams and their refusals', async () => {
  const { paths, components } = (await here.anonymous.get('/openapi.json')).body;
  const routes = Object.entries(paths as Record<string, object>).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method} ${path}`),
  );
  expect(routes).toEqual(
    expect.arrayContaining([
      ...['get /v1/models', 'post /v1/chat/completions', 'get /v1/chat/completions/{id}', 'post /v1/responses'],
      ...['get /v1/responses/{id}', 'post /v1/responses/{id}/cancel', 'post /mcp'],
    ]),
  );
  const chat = paths['/v1/chat/completions'].post;
  expect(chat.description).toContain('server-sent events');
  expect(chat.security).toBeUndefined();
  expect(Object.keys(chat.responses[200].content)).toEqual(['application/json', 'text/event-stream']);
  expect(chat.responses[409].content['application/json'].schema.$ref).toContain('OpenAIError');
  expect(chat.parameters.map(({ name }: { name: string }) => name)).toContain('Idempotency-Key');
  for (const name of ['ChatCompletionRequest', 'ResponseRequest', 'JsonRpcMessage'])
    expect(components.schemas[name]).toHaveProperty('example');
});

it('every response matches its description', async () => {
  const model = await here.workflow();
  here.model.script(says('One.'), says('Two.'), says('Three.'));
  const completion = await here.alice.ok(here.alice.post('/v1/chat/completions', { model, messages: messages('x') }));
  ChatCompletion.parse(completion);
  ChatCompletion.parse(await here.alice.ok(here.alice.get(`/v1/chat/completions/${completion.id}`)));
  const streamed = await here.alice.post('/v1/chat/completions', { model, messages: messages('x'), stream: true });
  const chunks = framesOf(streamed.body as never);
  expect(chunks.pop()).toBe('[DONE]');
  for (const chunk of chunks) ChatCompletionChunk.parse(JSON.parse(chunk));
  const response = await here.alice.ok(here.alice.post('/v1/responses', { model, input: 'x' }));
  ModelResponse.parse(response);
  const again = await here.alice.get(`/v1/responses/${response.id}?stream=true`);
  for (const event of framesOf(again.body as never)) ModelResponseEvent.parse(JSON.parse(event));
  CompatModels.parse(await here.alice.ok(here.alice.get('/v1/models')));
  OpenAIError.parse((await here.alice.post('/v1/responses', { model: 'nobody', input: 'x' })).body);
  OpenAIError.parse((await here.anonymous.get('/v1/models')).body);
});

const framesOf = (stream: string): string[] => framesIn(stream).map(({ data }) => data);

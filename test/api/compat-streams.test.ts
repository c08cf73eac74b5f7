import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALICE, helpers, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startApiProcess } from '../support/machine/processes.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const TOOL = 'manage_todo_list';

/** Records the raw bytes of each stream. The client only shows the parsed events. */
function recording() {
  const streams: string[] = [];
  return {
    streams,
    async fetch(url: string | URL | Request, init?: RequestInit): Promise<Response> {
      const answer = await fetch(url, init);
      const at = streams.push('') - 1;
      const heard = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          streams[at] += Buffer.from(chunk).toString();
          controller.enqueue(chunk);
        },
      });
      return new Response(answer.body?.pipeThrough(heard), answer);
    },
  };
}

/** Calls a workflow as a tool of MCP, until it has reported once that the run continues. */
async function callSilent(): Promise<void> {
  const workflow_id = await here.workflow({ workflow: { title: 'Silent' } });
  here.model.scriptPrompt('Say nothing.', hangs());
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${ALICE}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${here.url}/mcp`), { requestInit }) as never);
  const asked = new AbortController();
  const beat = Promise.withResolvers<void>();
  const onprogress = ({ message }: { message?: string }) => void (message === 'Still running' && beat.resolve());
  const call = { name: `Silent_${workflow_id.slice(-8)}`, arguments: { prompt: 'Say nothing.' } };
  const called = client.callTool(call, undefined, { onprogress, signal: asked.signal });
  await Promise.race([beat.promise, called]);
  asked.abort();
  await expect(called).rejects.toThrow();
  await client.close();
}

// Both wait for what is sent while nothing happens, at the same time.
it('streams of /v1 carry comments while a tool call waits, and end cleanly when their server shuts down; calls over MCP report progress', {
  timeout: 90_000,
}, async () => {
  const silent = callSilent();
  const { api, client, token } = await startApiProcess(here.setting);
  const { workflow } = helpers(client, here.model, 'gated ');
  const gated = { builtin_tools: [TOOL], approval_tools: [TOOL] };
  const models = [await workflow({ agent: gated }), await workflow({ agent: gated })] as const;
  here.model.always((response, request) =>
    request.messages.at(-1)?.role === 'tool' ? says('Done.')(response, request) : asks({ name: TOOL })(response, request),
  );
  const { streams, fetch } = recording();
  const openai = new OpenAI({ baseURL: `${client.url}/v1`, apiKey: token, maxRetries: 0, fetch });
  const [chat, response] = await Promise.all([
    openai.chat.completions.create({ model: models[0], messages: [{ role: 'user', content: 'x' }], stream: true }),
    openai.responses.create({ model: models[1], input: 'x', stream: true }),
  ]);
  const chunks = collected(chat);
  const events = collected(response);
  await expect.poll(() => streams.filter((text) => text.includes(': keep-alive\n\n')).length, { timeout: 40_000 }).toBe(2);
  await silent;
  expect(await api.end('SIGTERM')).toBe(0);

  // A connection that was cut would reject here.
  expect((await chunks).map(({ choices }) => choices[0]?.finish_reason)).toEqual([null]);
  const types = (await events).map(({ type }) => type);
  expect(types.slice(0, 2)).toEqual(['response.created', 'response.in_progress']);
  expect(types.filter((type) => /done|completed|failed|incomplete/.test(type))).toEqual([]);
  for (const text of streams) expect(text).toMatch(/retry: \d+\n\n$/);

  const next = await startApiProcess(here.setting);
  const created = (await events).find(({ type }) => type === 'response.created') as OpenAI.Responses.ResponseCreatedEvent;
  const again = new OpenAI({ baseURL: `${next.client.url}/v1`, apiKey: token, maxRetries: 0 });
  const rest = collected(await again.responses.retrieve(created.response.id, { stream: true, starting_after: 3 }));
  await approve(next.client, created.response.id.replace('resp_', ''));
  expect((await rest).at(-1)).toMatchObject({ type: 'response.completed' });
  await next.api.end('SIGTERM');
});

async function collected<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of stream) all.push(item);
  return all;
}

async function approve({ ok, get, post }: TestInstallation['alice'], task_id: string): Promise<void> {
  const [step] = (await ok(get(`/api/tasks/${task_id}/steps`))) as unknown as { tool_calls: { call_id: string }[] }[];
  await ok(post(`/api/tasks/${task_id}/approvals/${step?.tool_calls[0]?.call_id}`, { decision: 'approve' }));
}

import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';

/** The names of the prepared statements that this process has sent. */
const sent: string[] = [];
const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;

let here: TestInstallation;
beforeAll(async () => {
  (pg.Client.prototype as { query: unknown }).query = function (this: pg.Client, ...args: unknown[]) {
    const { name } = (args[0] ?? {}) as { name?: string };
    if (name) sent.push(name);
    return query.apply(this, args);
  };
  here = await shareInstallation({ env: { TOOL_ISOLATION: 'none' } });
});
afterAll(async () => {
  await here.stop();
  (pg.Client.prototype as { query: unknown }).query = query;
});

const TOOL = 'EFFECT = "read"\ndef one() -> int:\n    return 1\n';
const PROMPT = { snapshot_workflow: 1, create_task: 1, add_audit: 1 };
const STREAM = { watched_events: 1, read_task_events: 1 };
const BEFORE = { tokens_of_run: 1 };
const STEPS = {
  open_run: 3,
  newest_memories: 1,
  begin_attempt: 3,
  open_token: 3,
  append_texts: 1,
  write_reply: 3,
  settle_task: 1,
};
const RUN = { ...PROMPT, ...STREAM, ...BEFORE, ...STEPS };

/** A workflow whose provider has a key. */
async function withKey(options: Parameters<TestInstallation['workflow']>[0]): Promise<{ id: string; tool: string | undefined }> {
  const { alice } = here;
  const id = await here.workflow(options);
  const { agent_id } = await alice.ok(alice.get(`/api/workflows/${id}`));
  const { provider_id, custom_tool_ids } = await alice.ok(alice.get(`/api/agents/${agent_id}`));
  const name = `key-${id}`;
  await alice.ok(alice.post('/api/tokens', { name, value: 'sk-of-the-provider' }));
  await alice.ok(alice.put(`/api/providers/${provider_id}`, { api_key_token_name: name }));
  const [tool_id] = custom_tool_ids as string[];
  return { id, tool: tool_id && (await alice.ok(alice.get(`/api/custom-tools/${tool_id}`))).name };
}

it.each([
  ['a custom tool', { tools: [TOOL] }, { open_call: 2, start_call: 2, end_call: 2 }],
  ['a brief tool', { agent: { builtin_tools: ['manage_todo_list'] } }, { open_call: 2, end_call_with_todos: 2 }],
])('a run of three steps that calls %s twice sends these statements, as docs/performance.md says', async (_, options, calls) => {
  const { id, tool } = await withKey(options);
  const call = tool ? { name: tool } : { name: 'manage_todo_list', args: { todoList: [] } };
  const runs: object[] = [];
  const expected = { ...RUN, ...calls };
  // A process announces events until it notices that it is alone, and what it does from time to time may fall into one of the runs.
  while (runs.length < 40 && !isDeepStrictEqual(runs.at(-1), expected)) {
    here.model.script(asks(call), asks(call), says('Done.'));
    sent.length = 0;
    const { stream_url } = await here.alice.ok(here.alice.post(`/api/workflows/${id}/prompt`, { prompt: 'Count.' }));
    expect((await here.alice.events(stream_url)).at(-1)?.data).toMatchObject({ status: 'completed' });
    const counted = Object.entries(Object.groupBy(sent, (name) => name));
    runs.push(Object.fromEntries(counted.map(([name, all = []]) => [name, all.length])));
  }
  expect(runs).toContainEqual(expected);
});

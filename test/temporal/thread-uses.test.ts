import { afterAll, beforeAll, expect, it } from 'vitest';
import { sweep } from '../../src/temporal/repair/retention.ts';
import { daysAgo } from '../support/database/aged.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { messageAnswer, startCompatibleVendor } from '../support/peers/compatible-vendor.ts';
import { asks, hangs, says, startModelServer } from '../support/peers/model-server.ts';
import * as vendors from '../support/peers/vendor-rules.ts';
import { openEvaluations } from '../support/runs/evaluations.ts';
import { openaiAt, outOfQuota, providerOf } from '../support/runs/fallbacks.ts';
import { toolOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const remembering = (options: Parameters<TestInstallation['workflow']>[0] = {}) =>
  here.workflow({ ...options, workflow: { remember: 'thread', ...options?.workflow } });
const read = (path: string) => here.alice.ok(here.alice.get(path));

async function finish(workflow_id: string, prompt: string, more: object = {}) {
  const task = await here.ended(await here.prompt(workflow_id, prompt, more));
  expect(task).toMatchObject({ status: 'completed', error: null });
  return task;
}
/** What the scripted model was sent last, without the system prompt. */
const lastLines = () =>
  here.model.requests
    .at(-1)!
    .messages.slice(1)
    .map(({ role, content }) => `${role}: ${content}`);

it('a reply’s signed thinking is sent to its own model in later turns, and to no other', async () => {
  const [claude, other] = [await startCompatibleVendor(vendors.anthropic), await startModelServer()];
  try {
    const api_key_token_name = `key-${crypto.randomUUID()}`;
    await here.alice.ok(here.alice.post('/api/tokens', { name: api_key_token_name, value: 'canary-key' }), 201);
    const claude_id = await providerOf(here.alice, {
      ...{ provider_type: 'anthropic_messages', base_url: claude.url, default_model: 'claude-sonnet-5', api_key_token_name },
    });
    const other_id = await providerOf(here.alice, openaiAt(other.url));
    const todo = { name: 'manage_todo_list', input: { todoList: [] } };
    const thinking = (signature: string) => ({ type: 'thinking', thinking: 'A list helps.', signature });
    const calls = (signature: string) =>
      messageAnswer([thinking(signature), { type: 'tool_use', id: `toolu_${signature}`, ...todo }], { stop: 'tool_use' });
    const answer = (text: string) => messageAnswer([{ type: 'text', text }]);
    const agent = { provider_id: other_id, model: null, builtin_tools: [todo.name] };
    const id = await remembering({ agent: { ...agent, fallbacks: [{ on: ['quota'], provider_id: claude_id }] } });
    const { agent_id } = await read(`/api/workflows/${id}`);
    // The fallback answers the first turn, and the run's own model the second.
    other.script(outOfQuota, says('Three.'));
    claude.script(calls('Zmlyc3Q'), answer('Two.'));
    const { thread_id } = await finish(id, 'One?');
    await finish(id, 'Another?', { thread_id });
    expect(JSON.stringify(other.requests.at(-1))).not.toMatch(/Zmlyc3Q|A list helps/);
    expect(
      other.requests
        .at(-1)!
        .messages.slice(3)
        .map(({ content }) => content),
    ).toEqual([...[expect.any(String), 'Two.', 'Another?']]);
    // From now on the agent asks Claude.
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { provider_id: claude_id, fallbacks: [] }));
    claude.script(calls('dGhpcmQ'), answer('Five.'), answer('Seven.'));
    await finish(id, 'A third?', { thread_id });
    await finish(id, 'A fourth?', { thread_id });
    const parts = claude.requests.at(-1)!.messages.filter(({ role }: any) => role === 'assistant');
    expect(
      parts.map(({ content }: any) => (typeof content === 'string' ? content : content.map(({ type }: any) => type))),
    ).toEqual([...[['tool_use'], 'Two.', 'Three.', ['thinking', 'tool_use'], 'Five.']]);
    expect(parts[3].content[0]).toEqual(thinking('dGhpcmQ'));
  } finally {
    await Promise.all([claude.stop(), other.stop()]);
  }
});

it('files stay as long as a turn has them, also after its thread was not used for a day', async () => {
  const id = await remembering();
  const form = new FormData();
  form.append('file', new Blob(['seventeen'], { type: 'text/plain' }), 'a.txt');
  const { id: file_id } = await here.alice.ok(here.alice.post('/api/attachments', form), 201);
  here.model.script(says('Read.'), says('Again.'));
  const { thread_id } = await finish(id, 'Read this.', { attachments: [{ id: file_id }] });
  await sweep(here.core.store.retention.transient(new Date(Date.now() + 25 * 3_600_000)), 10_000);
  await finish(id, 'What was it?', { thread_id });
  expect(lastLines()[0]).toContain('seventeen');
  await here.alice.ok(here.alice.del(`/api/threads/${thread_id}`), 204);
  await sweep(here.core.store.retention.transient(new Date(Date.now() + 25 * 3_600_000)), 10_000);
  expect((await here.alice.get(`/api/attachments/${file_id}`)).status).toBe(404);
});

it('turns are kept while their thread is used, and removed with it when it was not', async () => {
  const id = await remembering();
  here.model.always(says('Yes.'));
  const [used, unused, emptied] = [await finish(id, 'one'), await finish(id, 'two'), await finish(id, 'three')];
  const last = await finish(id, 'four', { thread_id: used.id });
  const aged = [used.id, last.id, unused.id, emptied.id];
  await here.sql('UPDATE tasks SET completed_at = $2, created_at = $2 WHERE id = ANY ($1)', aged, daysAgo(40));
  await here.sql('UPDATE threads SET updated_at = $2 WHERE id = ANY ($1)', [unused.id, emptied.id], daysAgo(40));
  await sweep(here.core.store.retention.ended(daysAgo(30)), 30_000);
  const found = async (path: string) => (await here.alice.get(path)).status;
  expect(await Promise.all(aged.map((task_id) => found(`/api/tasks/${task_id}`)))).toEqual([200, 200, 404, 404]);
  // Whose id is as young as this test is kept until it is old; a prompt begins again there.
  const next = await finish(id, 'five', { thread_id: emptied.id });
  expect(next).toMatchObject({ thread_turn: 1 });
  expect(lastLines()).toEqual(['user: five']);
});

it('an evaluation of a workflow with threads answers each item by itself, and usage counts every turn', async () => {
  const id = await remembering();
  const usage = (input: number, output: number) => ({
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  });
  here.model.script(says('One.', usage(101, 3)), says('Two.', usage(211, 5)));
  const first = await finish(id, 'first');
  await finish(id, 'second', { thread_id: first.id });
  expect(await read(`/api/tasks?thread_id=${first.id}`)).toMatchObject([
    { usage: { total_in: 211, total_out: 5 } },
    { usage: { total_in: 101, total_out: 3 } },
  ]);
  const { rows } = await read('/api/usage?by=workflow');
  expect(rows.find(({ key }: any) => key === id)).toMatchObject({ runs: 2, total_in: 312, total_out: 8 });
  here.model.always(says('Two.'));
  const { dataset, begin, ended } = openEvaluations(here);
  const { evaluation } = await ended(await begin(await dataset({ second: 'Two.', third: 'Three.' }), { workflow_id: id }));
  expect(evaluation).toMatchObject({ status: 'completed', passed: 1 });
  expect(lastLines()).toHaveLength(1);
  const evaluated = await here.sql(`SELECT thread_id FROM tasks WHERE trigger = 'evaluation'`);
  expect(evaluated).toEqual([{ thread_id: null }, { thread_id: null }]);
});

it('a fork of a turn whose thread is deleted meanwhile continues without the turns before it', async () => {
  const id = await remembering({ tools: ['EFFECT = "read"\ndef one() -> int:\n    return 1\n'] });
  const { name } = await toolOf(here, id);
  here.model.script(says('Two.'), says('Three.'));
  const first = await finish(id, 'first');
  const second = await finish(id, 'second', { thread_id: first.id });
  let answer = () => {};
  const deleted = new Promise<void>((resolve) => (answer = resolve));
  const before = here.model.requests.length;
  here.model.script(async (response, request) => {
    await deleted;
    return asks({ name })(response, request);
  }, says('Done.'));
  const fork = await here.alice.ok(here.alice.post(`/api/tasks/${second.id}/fork`, { from_step: 1, effects: 'live' }), 201);
  await until('it is in its first step', async () => here.model.requests.length === before + 1);
  expect(lastLines()).toEqual(['user: first', 'assistant: Two.', 'user: second']);
  await here.alice.ok(here.alice.del(`/api/threads/${first.id}`), 204);
  answer();
  expect(await here.ended(fork.task_id)).toMatchObject({ status: 'completed', response: 'Done.', thread_turn: 2 });
  expect(lastLines().map((line) => line.split(':')[0])).toEqual(['user', 'assistant', 'tool']);
  expect((await here.alice.get(`/api/tasks/${fork.task_id}/bundle`)).status).toBe(200);
});

it('others neither see nor fork nor stop a turn', async () => {
  const id = await remembering();
  const before = here.model.requests.length;
  here.model.script(hangs('Half'));
  const task_id = await here.prompt(id, 'first');
  await until('its model is asked', async () => here.model.requests.length > before);
  const statuses = await Promise.all([
    here.bob.get(`/api/tasks/${task_id}`),
    here.bob.post(`/api/tasks/${task_id}/fork`, { from_step: 1, effects: 'stub' }),
    here.bob.post(`/api/tasks/${task_id}/stop`),
    here.bob.get(`/api/tasks/${task_id}/bundle`),
  ]);
  expect(statuses.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
  expect(await here.bob.ok(here.bob.get(`/api/tasks?thread_id=${task_id}`))).toEqual([]);
  await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
  await here.ended(task_id);
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunBundle } from '../../src/contracts/run-bundles.ts';
import { createOutputGuards } from '../../src/main/wiring/guardrails.ts';
import { replay } from '../../src/replay/replay.ts';
import { testParsers } from '../support/contract/parsers.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { toolOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const read = (path: string) => here.alice.ok(here.alice.get(path));
const remembering = (tools: string[] = []) =>
  here.workflow({ tools, workflow: { remember: 'thread', output_format: 'markdown' } });

async function finish(task_id: string) {
  const task = await here.ended(task_id);
  expect(task).toMatchObject({ status: 'completed', error: null });
  return task;
}
const say = async (workflow_id: string, prompt: string, more: object = {}) =>
  finish(await here.prompt(workflow_id, prompt, more));
const fork = (task_id: string, body: object) =>
  here.alice.post(`/api/tasks/${task_id}/fork`, { in_thread: true, from_step: 1, ...body });
const branch = async (task_id: string, body: object) => finish((await here.alice.ok(fork(task_id, body), 201)).task_id);
const switchTo = (thread_id: string, head_task_id: string) => here.alice.put(`/api/threads/${thread_id}`, { head_task_id });
const headOf = async (thread_id: string) => (await read(`/api/threads/${thread_id}`)).head_task_id;

/** What the scripted model was sent last, without the system prompt. */
const lastLines = () =>
  here.model.requests
    .at(-1)!
    .messages.slice(1)
    .map(({ role, content }) => `${role}: ${content}`);

/** A thread of two turns. */
async function conversation() {
  const workflow_id = await remembering();
  here.model.script(says('Two.'), says('Five.'));
  const first = await say(workflow_id, 'A prime?');
  const second = await say(workflow_id, 'Another?', { thread_id: first.id });
  return { workflow_id, thread_id: first.id as string, first, second };
}

describe('a fork in the thread of its source', () => {
  it('at step 1 with a prompt edits a message: it stands next to the turn, is the head, and the next prompt follows it', async () => {
    const { workflow_id, thread_id, first, second } = await conversation();
    here.model.script(says('Seven.'), says('Eleven.'));
    const edited = await branch(second.id, { prompt: 'One above five?' });
    const place = { thread_id, previous_task_id: first.id, thread_turn: 2 };
    expect(edited).toMatchObject({ ...place, response: 'Seven.', forked_from: { task_id: second.id, step: 1 } });
    expect(await headOf(thread_id)).toBe(edited.id);
    const third = await say(workflow_id, 'The next?', { thread_id });
    expect(third).toMatchObject({ previous_task_id: edited.id, thread_turn: 3, response: 'Eleven.' });
    expect(lastLines()).toEqual([
      ...['user: A prime?', 'assistant: Two.', 'user: One above five?', 'assistant: Seven.', 'user: The next?'],
    ]);
    expect((await read(`/api/tasks?thread_id=${thread_id}`)).map(({ id }: any) => id)).toEqual([
      ...[third.id, edited.id, second.id, first.id],
    ]);
  });

  it('at the last step answers again, without repeating the calls before; its bundle replays', async () => {
    const workflow_id = await remembering(['EFFECT = "write"\ndef note(word: str) -> str:\n    return word\n']);
    const { name } = await toolOf(here, workflow_id);
    here.model.script(says('Hello.'), asks({ name, args: { word: 'seventeen' } }), says('Noted.'), says('I noted seventeen.'));
    const first = await say(workflow_id, 'Hi.');
    const second = await say(workflow_id, 'Note 17.', { thread_id: first.id });
    const again = await branch(second.id, { from_step: 2 });
    expect(again).toMatchObject({ thread_turn: 2, previous_task_id: first.id, response: 'I noted seventeen.', turns: 1 });
    const calls = (await read(`/api/tasks/${again.id}/steps`)).flatMap(({ tool_calls }: any) => tool_calls);
    expect(calls).toMatchObject([{ answered_by: 'recorded', attempts: 0 }]);
    const bundle = await read(`/api/tasks/${again.id}/bundle`);
    expect(bundle.earlier.map(({ turn, kind }: any) => [turn, kind])).toEqual([
      [1, 'prompt'],
      [1, 'reply'],
    ]);
    const parsers = testParsers();
    try {
      expect(await replay(bundle as RunBundle, createOutputGuards(parsers.judge))).toMatchObject({ difference: null });
    } finally {
      await parsers.close();
    }
  });

  it('of the first turn begins another branch from the beginning', async () => {
    const { workflow_id, thread_id, first } = await conversation();
    here.model.script(says('Thirteen.'), says('Four.'));
    expect(await branch(first.id, { prompt: 'A large prime?' })).toMatchObject({ thread_turn: 1, previous_task_id: null });
    await say(workflow_id, 'No prime?', { thread_id });
    expect(lastLines()).toEqual(['user: A large prime?', 'assistant: Thirteen.', 'user: No prime?']);
  });

  it('waits for a turn in progress, or is refused, as on_busy says', async () => {
    const { workflow_id, thread_id, first, second } = await conversation();
    const before = here.model.requests.length;
    let answer = () => {};
    const released = new Promise<void>((resolve) => (answer = resolve));
    here.model.script(async (response, request) => {
      await released;
      return says('Three.')(response, request);
    }, says('Nine.'));
    const slow = await here.prompt(workflow_id, 'Slowly?', { thread_id });
    await until('the third turn asks its model', async () => here.model.requests.length === before + 1);
    const refused = await fork(second.id, { prompt: 'Now?', on_busy: 'reject' });
    expect([refused.status, refused.body.code]).toEqual([409, 'workflow_busy']);
    expect(await headOf(thread_id)).toBe(slow);
    const { task_id } = await here.alice.ok(fork(second.id, { prompt: 'Later?' }), 201);
    expect(await read(`/api/tasks/${task_id}`)).toMatchObject({ status: 'pending', previous_task_id: first.id });
    answer();
    expect(await finish(task_id)).toMatchObject({ response: 'Nine.' });
    expect(lastLines()).toEqual(['user: A prime?', 'assistant: Two.', 'user: Later?']);
  });

  it('needs a source that is a turn; without in_thread the fork is in no thread', async () => {
    const { thread_id, second } = await conversation();
    here.model.script(says('Once.'), says('Apart.'));
    const alone = await say(await here.workflow(), 'x');
    const refused = await fork(alone.id, {});
    expect(refused.body).toMatchObject({
      ...{ status: 422, errors: [{ path: 'in_thread', message: 'This run is not a turn of a thread; leave out `in_thread`' }] },
    });
    expect(await branch(second.id, { in_thread: false })).toMatchObject({ thread_id: null, thread_turn: 2 });
    expect(await headOf(thread_id)).toBe(second.id);
  });
});

describe('the branch in use', () => {
  it('is switched by the head of the thread, which the next prompt follows', async () => {
    const { workflow_id, thread_id, second } = await conversation();
    here.model.script(says('Seven.'), says('Six.'));
    const edited = await branch(second.id, { prompt: 'One above five?' });
    expect(await here.alice.ok(switchTo(thread_id, second.id))).toMatchObject({ head_task_id: second.id });
    const third = await say(workflow_id, 'Sum less one?', { thread_id });
    expect(third).toMatchObject({ previous_task_id: second.id, thread_turn: 3 });
    expect(lastLines()).toEqual([
      ...['user: A prime?', 'assistant: Two.', 'user: Another?', 'assistant: Five.', 'user: Sum less one?'],
    ]);
    expect(edited.previous_task_id).toBe(second.previous_task_id);
  });

  it('stays while a turn is in progress, and is only a turn of the thread itself; nothing else is changed then', async () => {
    const { workflow_id, thread_id, first, second } = await conversation();
    const other = await conversation();
    const foreign = await here.alice.put(`/api/threads/${thread_id}`, { title: 'New', head_task_id: other.second.id });
    expect(foreign.body).toMatchObject({ status: 422, errors: [{ path: 'head_task_id' }] });
    const before = here.model.requests.length;
    here.model.script(hangs('Wait'));
    const slow = await here.prompt(workflow_id, 'Slowly?', { thread_id });
    await until('the third turn asks its model', async () => here.model.requests.length === before + 1);
    const busy = await here.alice.put(`/api/threads/${thread_id}`, { title: 'New', head_task_id: first.id });
    expect([busy.status, busy.body.code]).toEqual([409, 'thread_running']);
    expect(await read(`/api/threads/${thread_id}`)).toMatchObject({ title: 'A prime?', head_task_id: slow });
    await here.alice.ok(here.alice.post(`/api/tasks/${slow}/stop`));
    await here.ended(slow);
    expect(await here.alice.ok(switchTo(thread_id, second.id))).toMatchObject({ head_task_id: second.id });
  });

  it('is nobody else’s to branch or to switch', async () => {
    const { thread_id, first, second } = await conversation();
    const statuses = await Promise.all([
      here.bob.post(`/api/tasks/${second.id}/fork`, { from_step: 1, in_thread: true }),
      here.bob.put(`/api/threads/${thread_id}`, { head_task_id: first.id }),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([403, 403]);
    expect(await headOf(thread_id)).toBe(second.id);
  });

  it('goes with its thread', async () => {
    const { thread_id, first, second } = await conversation();
    here.model.script(says('Seven.'));
    const edited = await branch(first.id, { prompt: 'x' });
    await here.alice.ok(here.alice.del(`/api/threads/${thread_id}`), 204);
    const left = await here.sql('SELECT id FROM tasks WHERE id = ANY ($1)', [first.id, second.id, edited.id]);
    expect(left).toEqual([]);
  });
});

import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { inTransaction } from '../../src/store/database/database.ts';
import { type ImportedTurn, importTurns } from '../../src/store/runs/imported-turns.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const blank = { tool_calls: null, call_id: null, extra: null };

/** A turn in which a person asked something, a tool was called, and an answer given. */
function turnOf(question: string, answer: string, more: Partial<ImportedTurn> = {}): ImportedTurn {
  const tool_calls = [{ call_id: '1-1', name: 'add', arguments: '{"a":17}' }];
  return {
    id: uuid(),
    ...{ prompt: question, response: answer, files: [], created_at: new Date('2026-03-05T07:11:13.000Z') },
    messages: [
      { ...blank, step: 0, position: 0, role: 'user', kind: 'prompt', content: question, extra: { id: 'never sent' } },
      { ...blank, step: 1, position: 0, role: 'assistant', kind: 'reply', content: '', tool_calls },
      { ...blank, step: 1, position: 1, role: 'tool', kind: 'result', content: '42', call_id: '1-1' },
      { ...blank, step: 2, position: 0, role: 'assistant', kind: 'reply', content: answer, extra: { note: 'never sent' } },
    ],
    ...more,
  };
}

async function createThread() {
  const workflow_id = await here.workflow({ workflow: { remember: 'thread', output_format: 'markdown' } });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const thread = await here.alice.ok(here.alice.post('/api/threads', { workflow_id }), 201);
  const target = { thread_id: thread.id, workflow_id, agent: { id: agent_id, name: 'Ann' } };
  const add = (...turns: ImportedTurn[]) => inTransaction(here.core.database.pool, (on) => importTurns(on, turns, target));
  const prompt = (text: string) =>
    here.alice.ok(here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: text, thread_id: thread.id }), 201);
  return { workflow_id, agent_id, thread_id: thread.id as string, add, prompt };
}

const list = async (query: string) => {
  const { body, headers } = await here.alice.get(`/api/tasks?${query}`);
  return [body.map(({ id }: { id: string }) => id), headers.get('x-total-count')];
};

it('are read by the next turn as if they had run, without what only the record needs', async () => {
  const { add, prompt, thread_id } = await createThread();
  const [first, second] = [turnOf('Add 17 and 25.', 'It is 42.'), turnOf('Once more.', 'Still 42.')];
  expect(await add(first, second)).toBe(true);
  here.model.script(says('You asked twice.'));
  const next = await prompt('What did I ask?');
  const task = await here.ended(next.task_id);
  expect(task).toMatchObject({ thread_turn: 3, previous_task_id: second.id, response: 'You asked twice.' });
  const sent = here.model.requests.at(-1)!.messages.slice(1);
  expect(
    sent.map(({ role, content, tool_call_id, tool_calls }: any) => [role, content, tool_call_id ?? tool_calls?.[0].id]),
  ).toEqual([
    ['user', 'Add 17 and 25.', undefined],
    ['assistant', null, '1-1-1'],
    ['tool', '42', '1-1-1'],
    ['assistant', 'It is 42.', undefined],
    ['user', 'Once more.', undefined],
    ['assistant', null, '2-1-1'],
    ['tool', '42', '2-1-1'],
    ['assistant', 'Still 42.', undefined],
    ['user', 'What did I ask?', undefined],
  ]);
  expect(JSON.stringify(here.model.requests.at(-1))).not.toContain('never sent');
  expect(await here.alice.ok(here.alice.get(`/api/threads/${thread_id}`))).toMatchObject({ head_task_id: task.id });
});

it('are turns of their thread and no runs: lists, counters and usage leave them out', async () => {
  const { add, workflow_id, thread_id } = await createThread();
  const turn = turnOf('Seven?', 'Seven.');
  await add(turn);
  expect(await list(`workflow_id=${workflow_id}`)).toEqual([[], '0']);
  expect(await list(`thread_id=${thread_id}`)).toEqual([[turn.id], '1']);
  expect(await list(`workflow_id=${workflow_id}&trigger=imported`)).toEqual([[turn.id], '1']);
  expect(await here.alice.ok(here.alice.get(`/api/tasks/${turn.id}`))).toMatchObject({
    ...{ trigger: 'imported', status: 'completed', prompt: 'Seven?', response: 'Seven.', thread_turn: 1, previous_task_id: null },
    created_at: '2026-03-05T07:11:13.000Z',
  });
  expect(await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).toMatchObject({ task_count: 0, status: 'active' });
  expect(await here.sql('SELECT usage_counted FROM tasks WHERE id = $1', turn.id)).toEqual([{ usage_counted: true }]);
  expect((await here.bob.get(`/api/tasks/${turn.id}`)).status).toBe(403);
});

it('are not added while a turn is in progress, not even some of them', async () => {
  const { add, prompt, thread_id } = await createThread();
  here.model.script(hangs('Thinking'));
  const before = here.model.requests.length;
  const running = await prompt('Three?');
  await until('the model is asked', async () => here.model.requests.length > before);
  expect(await add(turnOf('Five?', 'Five.'), turnOf('Eleven?', 'Eleven.'))).toBe(false);
  await here.alice.ok(here.alice.post(`/api/tasks/${running.task_id}/stop`));
  await until('the thread is free', async () => {
    return (await here.alice.ok(here.alice.get(`/api/threads/${thread_id}`))).active_task_id === null;
  });
  expect((await list(`thread_id=${thread_id}`))[0]).toEqual([running.task_id]);
  expect(await add(turnOf('Five?', 'Five.'))).toBe(true);
});

it('cannot be forked: they have no step', async () => {
  const { add } = await createThread();
  const turn = turnOf('Two?', 'Two.');
  await add(turn);
  const refused = await here.alice.post(`/api/tasks/${turn.id}/fork`, { from_step: 1, effects: 'stub' });
  expect([refused.status, refused.body.code]).toEqual([422, 'no_such_step']);
});

it('keep their files as long as they are there, and the model is shown them again', async () => {
  const { add, prompt } = await createThread();
  const file = await here.core.store.attachments.create({
    ...{ name: 'a.txt', media_type: 'text/plain', content: Buffer.from('seventeen') },
    created_by: here.people.alice.subject,
  });
  await add(turnOf('Read it.', 'Read.', { files: [file] }));
  expect((await here.alice.del(`/api/attachments/${file.id}`)).status).toBe(409);
  here.model.script(says('Seventeen.'));
  await here.ended((await prompt('What does it say?')).task_id);
  expect(here.model.requests.at(-1)!.messages[1]!.content).toContain('seventeen');
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { toolOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const ADD = 'EFFECT = "read"\ndef add(a: int, b: int) -> int:\n    return a + b\n';
const rememberingWorkflow = (options: Parameters<TestInstallation['workflow']>[0] = {}) =>
  here.workflow({ ...options, workflow: { remember: 'thread', output_format: 'markdown', ...options?.workflow } });

const sendTo = (workflow_id: string, prompt: string, more: object = {}) =>
  here.alice.ok(here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt, ...more }), 201);

async function finishTurn(workflow_id: string, prompt: string, more: object = {}) {
  const accepted = await sendTo(workflow_id, prompt, more);
  const task = await here.ended(accepted.task_id);
  expect(task.status).toBe('completed');
  return task;
}

const lastMessages = () => here.model.requests.at(-1)!.messages;

describe('a prompt to a workflow that remembers', () => {
  it('is a turn of a thread, which the next prompt continues: its model reads the calls and results of the turns before', async () => {
    const id = await rememberingWorkflow({ tools: [ADD] });
    const { name } = await toolOf(here, id);
    here.model.script(asks({ name, args: { a: 17, b: 25 } }), says('It is 42.'), says('I added 17 and 25.'));
    const first = await finishTurn(id, 'Add 17 and 25.');
    expect(first).toMatchObject({ thread_id: first.id, thread_turn: 1, previous_task_id: null });
    const sent_first = lastMessages();
    const second = await finishTurn(id, 'What did you do?', { thread_id: first.thread_id });
    expect(second).toMatchObject({ thread_id: first.id, thread_turn: 2, previous_task_id: first.id, response: 'I added 17 and 25.' });
    // What was sent before is the beginning of what is sent now, byte for byte, so that vendors find it in their caches.
    expect(JSON.stringify(lastMessages().slice(0, sent_first.length))).toBe(JSON.stringify(sent_first));
    expect(lastMessages().slice(sent_first.length)).toEqual([
      { role: 'assistant', content: 'It is 42.' },
      { role: 'user', content: 'What did you do?' },
    ]);
    expect(await here.alice.ok(here.alice.get(`/api/threads/${first.thread_id}`))).toMatchObject({
      workflow_id: id,
      title: 'Add 17 and 25.',
      head_task_id: second.id,
      active_task_id: null,
    });
  });

  it('waits for the turn before it, not for those of other threads', async () => {
    const id = await rememberingWorkflow();
    const before = here.model.requests.length;
    here.model.script(hangs('Thinking'), says('Seven.'));
    const slow = await sendTo(id, 'Three?');
    await until('the first turn asks its model', async () => here.model.requests.length === before + 1);
    const next = await sendTo(id, 'And then?', { thread_id: slow.thread_id });
    const other = await finishTurn(id, 'Seven?');
    expect(other.response).toBe('Seven.');
    const waiting = await here.alice.ok(here.alice.get(`/api/tasks/${next.task_id}`));
    expect(waiting).toMatchObject({ status: 'pending', thread_turn: 2, previous_task_id: slow.task_id });
    here.model.script(says('Then five.'));
    await here.alice.ok(here.alice.post(`/api/tasks/${slow.task_id}/stop`));
    expect(await here.ended(next.task_id)).toMatchObject({ status: 'completed', response: 'Then five.' });
    // The turn that was halted keeps its question, and what it had said.
    expect(lastMessages().slice(1)).toEqual([
      { role: 'user', content: 'Three?' },
      { role: 'assistant', content: 'Thinking' },
      { role: 'user', content: 'And then?' },
    ]);
  });
});

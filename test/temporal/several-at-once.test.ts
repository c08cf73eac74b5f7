import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const TODO = 'manage_todo_list';
const taskOf = (task_id: string) => here.alice.ok(here.alice.get(`/api/tasks/${task_id}`));
const statusOf = async (task_id: string) => (await taskOf(task_id)).status as string;
const decide = (task_id: string, decision: string, message?: string) =>
  here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision, ...(message && { message }) });
const resultsOf = async (task_id: string) =>
  ((await taskOf(task_id)).messages as { role: string; content: string }[])
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content);

/** A run that waits for the approval of its call 1-1. */
async function asking(): Promise<string> {
  here.model.script(asks({ name: TODO, args: { todoList: [] }, id: 'the-same' }));
  const task_id = await here.prompt(await here.workflow({ agent: { builtin_tools: [TODO], approval_tools: [TODO] } }));
  await until('the question', async () => (await statusOf(task_id)) === 'waiting');
  return task_id;
}

describe('two runs that ask about a call with the same id', () => {
  it('get each its own decision, whichever comes first', async () => {
    const [approved, denied, undecided] = [await asking(), await asking(), await asking()];
    here.model.always(says('Over.'));
    const answers = await Promise.all([decide(denied, 'deny', 'too dear'), decide(approved, 'approve')]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    await Promise.all([approved, denied].map((task_id) => here.ended(task_id)));
    expect(await resultsOf(denied)).toEqual(['Denied by a person: too dear']);
    expect(await resultsOf(approved)).toEqual([expect.not.stringContaining('Denied')]);
    expect(await statusOf(undecided)).toBe('waiting');
    const [{ tool_calls }] = (await here.alice.ok(here.alice.get(`/api/tasks/${undecided}/steps`))) as never as [
      { tool_calls: { status: string; decided_by: string | null }[] },
    ];
    expect(tool_calls).toMatchObject([{ status: 'waiting_approval', decided_by: null }]);
    expect((await decide(undecided, 'approve')).status).toBe(200);
    expect(await here.ended(undecided)).toMatchObject({ status: 'completed' });
  });

  it('take one of two decisions that are made at the same time', async () => {
    const task_id = await asking();
    here.model.script(says('Over.'));
    const answers = await Promise.all([decide(task_id, 'approve'), decide(task_id, 'deny'), decide(task_id, 'approve')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    await here.ended(task_id);
    const denied = answers[1]?.status === 200;
    expect((await resultsOf(task_id))[0]?.startsWith('Denied')).toBe(denied);
  });
});

describe('an interrupt', () => {
  it('overtakes the queue: it halts the run in progress, and those that waited keep their order', async () => {
    const workflow_id = await here.workflow();
    here.model.script(hangs('busy'));
    const running = await here.prompt(workflow_id, 'running');
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${running}`, {
      enough: ({ type }) => type === 'message_delta',
    });
    const first = await here.prompt(workflow_id, 'first');
    const second = await here.prompt(workflow_id, 'second');
    const asked = here.model.requests.length;
    here.model.always(says('Done.'));
    const urgent = await here.prompt(workflow_id, 'urgent', { on_busy: 'interrupt' });
    for (const task_id of [urgent, first, second]) expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
    expect(await statusOf(running)).toBe('halted');
    const prompts = here.model.requests.slice(asked).map(({ messages }) => messages.at(-1)?.content);
    expect(prompts).toEqual(['urgent', 'first', 'second']);
  });

  it('of an interrupt leaves nobody behind', async () => {
    const workflow_id = await here.workflow();
    here.model.always(says('Done.'));
    here.model.script(hangs('busy'));
    const running = await here.prompt(workflow_id, 'running');
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${running}`, {
      enough: ({ type }) => type === 'message_delta',
    });
    const patient = await here.prompt(workflow_id, 'patient');
    here.model.script(hangs('one'), hangs('two'));
    const one = await here.prompt(workflow_id, 'one', { on_busy: 'interrupt' });
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${one}`, {
      enough: ({ type }) => type === 'message_delta',
    });
    const two = await here.prompt(workflow_id, 'two', { on_busy: 'interrupt' });
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${two}`, {
      enough: ({ type }) => type === 'message_delta',
    });
    expect(await statusOf(patient)).toBe('pending');
    await here.alice.ok(here.alice.post(`/api/tasks/${two}/stop`));
    expect(await here.ended(patient)).toMatchObject({ status: 'completed' });
    expect(await Promise.all([running, one, two].map(statusOf))).toEqual(['halted', 'halted', 'halted']);
  });
});

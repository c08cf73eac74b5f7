import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { toRunId } from '../../src/temporal/names.ts';
import { toGraceSpan } from '../../src/temporal/repair/reconcile-tasks.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { leftBehind } from '../support/machine/left-behind.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { startReceiver } from '../support/peers/receiver.ts';
import { compareIn } from '../support/runs/comparison.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const compareNow = () => compareIn(here, 0);
const compareLater = () => compareIn(here, 60_000);
const statusOf = async (task_id: string) => (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).status;
const stateOf = (task_id: string) => here.driver.engine.state(task_id);
/** Whether the engine has a request to end the run; the run itself may not have noticed yet. */
async function isAskedToEnd(task_id: string): Promise<boolean> {
  const { events } = await here.driver.client.workflow.getHandle(toRunId(task_id)).fetchHistory();
  return (events ?? []).some((event) => event.workflowExecutionCancelRequestedEventAttributes);
}
async function openRuns(): Promise<string[]> {
  const found: string[] = [];
  for await (const task_id of here.driver.engine.openRuns(toGraceSpan(new Date(0)))) found.push(task_id);
  return found;
}
const REPAIRED_NOTHING = { restarted: 0, lost: 0, strays: 0 };

/** A run in progress whose model has said the first word. */
async function streaming(workflow_id: string) {
  here.model.script(hangs('Half'));
  const task_id = await here.prompt(workflow_id);
  await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
    enough: ({ type }) => type === 'message_delta',
  });
  return task_id;
}

async function halted(...task_ids: string[]) {
  for (const task_id of task_ids) await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
  for (const task_id of task_ids) await here.ended(task_id);
}

const TODO = { name: 'manage_todo_list', args: { todoList: [] } };

/** A run that waits until somebody approves a call. */
async function waiting() {
  const agent = { builtin_tools: [TODO.name], approval_tools: [TODO.name] };
  here.model.script(asks(TODO));
  const task_id = await here.prompt(await here.workflow({ agent }));
  await until('the question', async () => (await statusOf(task_id)) === 'waiting');
  return task_id;
}

describe('the reconciler leaves alone', () => {
  it('a task whose run is only just being started', async () => {
    const task_id = await leftBehind(here, await here.workflow());
    expect(await compareNow()).toMatchObject(REPAIRED_NOTHING);
    expect(await stateOf(task_id)).toBe('unknown');
    here.model.script(says('Started.'));
    expect(await compareLater()).toMatchObject({ restarted: 1 });
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Started.' });
  });

  it('a run in progress and the one that waits behind it, whatever is wrong elsewhere', async () => {
    const workflow_id = await here.workflow();
    const first = await streaming(workflow_id);
    const second = await here.prompt(workflow_id, 'After that.');
    const broken = await streaming(await here.workflow());
    await here.driver.engine.terminate(broken, 'by an operator');
    expect(await compareLater()).toMatchObject({ ...REPAIRED_NOTHING, lost: 1 });
    expect(await Promise.all([first, second].map(statusOf))).toEqual(['running', 'pending']);
    expect(await Promise.all([first, second].map(stateOf))).toEqual(['open', 'waiting']);
    expect(await Promise.all([first, second].map(isAskedToEnd))).toEqual([false, false]);
    const [{ active_task_id: holder }] = await here.sql('SELECT active_task_id FROM workflows WHERE id = $1', workflow_id);
    expect(holder).toBe(first);
    await halted(second, first);
  });

  it('an execution whose task ended a moment ago', async () => {
    const task_id = await streaming(await here.workflow());
    await until('the index lists it', async () => (await openRuns()).includes(task_id));
    // A moment before the comparison, which is made in a minute.
    await here.sql(`UPDATE tasks SET status = 'halted', completed_at = now() + interval '1 minute' WHERE id = $1`, task_id);
    expect(await compareLater()).toMatchObject(REPAIRED_NOTHING);
    expect(await stateOf(task_id)).toBe('open');
    await here.sql(`UPDATE tasks SET completed_at = now() WHERE id = $1`, task_id);
    expect(await compareLater()).toMatchObject({ strays: 1 });
    expect(await stateOf(task_id)).toBe('closed');
  });

  it('a call that nobody has decided about, while it delivers a decision about the same call of another run', async () => {
    const [asked, decided] = [await waiting(), await waiting()];
    here.model.script(says('Approved.'));
    await here.sql(`UPDATE tool_calls SET decision = '{"decision": "approve"}' WHERE task_id = $1`, decided);
    expect(await compareLater()).toMatchObject(REPAIRED_NOTHING);
    expect(await here.ended(decided)).toMatchObject({ status: 'completed' });
    expect(await statusOf(asked)).toBe('waiting');
    expect(await here.sql(`SELECT status, decision FROM tool_calls WHERE task_id = $1`, asked)).toEqual([
      { status: 'waiting_approval', decision: null },
    ]);
    await halted(asked);
  });
});

describe('the reconciler', () => {
  it('repeats the halt of an interrupt that was not delivered, and halts no run for a prompt that may wait', async () => {
    const [interrupted, waited] = [await here.workflow(), await here.workflow()];
    const [first, other] = [await streaming(interrupted), await streaming(waited)];
    const [urgent, patient] = [await here.prompt(interrupted), await here.prompt(waited)];
    // As if its server had died between the record of the prompt and the halt.
    await here.sql(`UPDATE tasks SET on_busy = 'interrupt' WHERE id = $1`, urgent);
    here.model.script(says('Urgent.'));
    expect(await compareLater()).toMatchObject(REPAIRED_NOTHING);
    expect(await here.ended(first)).toMatchObject({ status: 'halted' });
    expect(await here.ended(urgent)).toMatchObject({ status: 'completed', response: 'Urgent.' });
    expect(await Promise.all([first, other, patient].map(isAskedToEnd))).toEqual([true, false, false]);
    expect(await Promise.all([other, patient].map(statusOf))).toEqual(['running', 'pending']);
    await halted(patient, other);
  });
});

describe('the reconciler and messages to webhooks', () => {
  let receiver: Awaited<ReturnType<typeof startReceiver>>;
  beforeEach(async () => {
    receiver = await startReceiver();
    return () => receiver.stop();
  });

  async function sent(...answers: number[]) {
    receiver.answers(...answers);
    here.model.script(says('Done.'));
    const task_id = await here.prompt(await here.workflow({ workflow: { webhook_url: receiver.url } }));
    const rows = () => here.alice.ok(here.alice.get(`/api/tasks/${task_id}/webhooks`)) as unknown as Promise<Delivery[]>;
    const settled = () => until('the delivery', async () => (await rows()).find(({ status }) => status !== 'pending'));
    return { settled, ...(await settled()) };
  }
  interface Delivery {
    id: string;
    status: string;
    attempts: object[];
  }

  it('delivers one that no delivery is in progress for, and repeats none that was delivered or given up', async () => {
    const [lost, delivered, failed] = [await sent(200), await sent(200), await sent(410)];
    expect([lost, delivered, failed].map(({ status }) => status)).toEqual(['delivered', 'delivered', 'failed']);
    // As if its worker had died before it could start the delivery.
    await here.sql(`UPDATE webhook_deliveries SET status = 'pending', delivered_at = NULL WHERE id = $1`, lost.id);
    await compareLater();
    expect((await lost.settled()).attempts).toHaveLength(2);
    expect((await delivered.settled()).attempts).toHaveLength(1);
    expect(await failed.settled()).toMatchObject({ status: 'failed', attempts: [{}] });
    expect(receiver.received).toHaveLength(4);
  });
});

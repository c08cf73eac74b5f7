import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { gate, openBudgets, usage } from '../support/runs/budgets.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let made: ReturnType<typeof openBudgets>;
beforeAll(async () => {
  // Runs are woken by what ends and what changes; the reconciler comes too late to help.
  here = await startTestInstallation({ env: { RECONCILE_SECONDS: '86400' } });
  made = openBudgets(here);
});
beforeEach(async () => {
  here.model.always(says('done'));
  await here.sql('DELETE FROM budgets');
});
afterAll(() => here?.stop());

/** Starts a run whose call is in progress until the gate opens; then it has used 8 tokens. */
async function startCall(values: object) {
  const { opened, open } = gate();
  here.model.scriptPrompt('In progress.', says('one two', { ...usage(3, 5), until: opened }));
  const before = (await made.reservations()).length;
  const task_id = await here.prompt(await made.workflow(values), 'In progress.');
  await until('the reservation', async () => (await made.reservations()).length > before);
  return { task_id, open };
}

it('a run that does not fit what is left holds up nobody behind it', async () => {
  await made.budget({ limit_tokens: 131 });
  here.model.scriptPrompt('Spend.', says('first', usage(83, 17)));
  await here.ended(await here.prompt(await made.workflow(), 'Spend.'));
  const call = await startCall({ max_output_tokens: 997 });
  const large = await here.prompt(await made.workflow(), 'word '.repeat(60));
  await made.waiting(large);
  const small = await here.prompt(await made.workflow());
  await made.waiting(small);
  expect((await made.waits()).map(({ reason }) => reason)).toEqual(['exhausted', 'busy']);
  call.open();
  expect(await here.ended(small)).toMatchObject({ status: 'completed' });
  expect((await made.task(large)).status).toBe('waiting');
  await here.sql('DELETE FROM budgets');
  await here.alice.ok(here.alice.post(`/api/tasks/${large}/stop`));
  await here.ended(large);
});

it('a run whose limit is lowered below what it needs ends, and does not wait for a period that brings no room', async () => {
  const mine = await made.budget({ limit_tokens: 131 });
  here.model.scriptPrompt('Spend.', says('first', usage(83, 17)));
  await here.ended(await here.prompt(await made.workflow(), 'Spend.'));
  const large = await here.prompt(await made.workflow(), 'word '.repeat(60));
  await made.waiting(large);
  await here.alice.ok(here.alice.put(`/api/budgets/${mine.id}`, { limit_tokens: 7 }));
  expect(await here.ended(large, 60_000)).toMatchObject({ status: 'failed', error_code: 'budget_too_small' });
  expect(await made.waits()).toEqual([]);
});

it('a run without a price holds up nobody behind it', async () => {
  const mine = await made.budget({ limit_usd: 0.131 });
  const unpriced = await here.prompt(await made.workflow({}, { price_table: {} }));
  await made.waiting(unpriced);
  const call = await startCall({ max_output_tokens: 997 });
  const priced = await here.prompt(await made.workflow());
  await made.waiting(priced);
  expect((await made.waits()).map(({ reason }) => reason)).toEqual(['unpriced', 'busy']);
  call.open();
  expect(await here.ended(priced)).toMatchObject({ status: 'completed' });
  expect((await made.task(unpriced)).status).toBe('waiting');
  await here.alice.ok(here.alice.del(`/api/budgets/${mine.id}`), 204);
  expect(await here.ended(unpriced)).toMatchObject({ status: 'completed' });
});

it('nobody overtakes a run that waits for the same budget', async () => {
  await made.budget({ limit_tokens: 1_009 });
  const call = await startCall({ max_output_tokens: 599 });
  const older = await here.prompt(await made.workflow({ max_output_tokens: 499 }));
  await made.waiting(older);
  // There is room for it, but not besides the run that came before.
  const newer = await here.prompt(await made.workflow());
  await made.waiting(newer);
  call.open();
  expect(await here.ended(older)).toMatchObject({ status: 'completed' });
  expect(await here.ended(newer)).toMatchObject({ status: 'completed' });
  expect(await made.waits()).toEqual([]);
});

it('a run is in no line any longer once its budget is deleted, it is halted, or its own budget is used up', async () => {
  const mine = await made.budget({ limit_tokens: 131 });
  here.model.scriptPrompt('Spend.', says('first', usage(101, 29)));
  await here.ended(await here.prompt(await made.workflow(), 'Spend.'));
  const { opened, open } = gate();
  const [deleted, halted, poor] = [
    await here.prompt(await made.workflow(), 'Continues.'),
    await here.prompt(await made.workflow()),
    await here.prompt(await made.workflow()),
  ];
  for (const id of [deleted, halted, poor]) await made.waiting(id);
  await here.alice.ok(here.alice.post(`/api/tasks/${halted}/stop`));
  await here.ended(halted);
  await here.alice.ok(here.alice.post(`/api/tasks/${poor}/budget`, { max_tokens: 1, on_exhausted: 'wait' }));
  await until('the wait for its own budget', async () => (await made.waits()).length === 1);
  here.model.scriptPrompt('Continues.', says('one two', { until: opened }));
  const asked = here.model.requests.length;
  await here.alice.ok(here.alice.del(`/api/budgets/${mine.id}`), 204);
  await until('the call', async () => here.model.requests.length > asked);
  expect(await made.waits()).toEqual([]);
  open();
  expect(await here.ended(deleted)).toMatchObject({ status: 'completed' });
  expect((await made.task(poor)).status).toBe('waiting');
  await here.alice.ok(here.alice.post(`/api/tasks/${poor}/stop`));
  await here.ended(poor);
});

it('a call belongs to the attempt that owns its step: no other one takes its reservation', async () => {
  await made.budget({ limit_tokens: 7_919 });
  const call = await startCall({});
  const before = await made.reservations();
  const { reserveForStep } = here.core.store.caps;
  const other = { reservation: crypto.randomUUID(), least_cost: 0, cost: 0, least_tokens: 3, tokens: 11 };
  expect(await reserveForStep({ ...other, task_id: call.task_id, step: 1, attempt: 2 })).toBe('stale');
  expect(await made.reservations()).toEqual(before);
  call.open();
  expect(await here.ended(call.task_id)).toMatchObject({ status: 'completed' });
});

it('a warning is reported by the next call that is made, also if another budget held it up', async () => {
  const first = await made.budget({ limit_tokens: 211, warn_at: [0.5] });
  const id = await made.workflow();
  const second = await made.budget({ scope: 'workflow', subject_id: id, limit_tokens: 127 });
  here.model.scriptPrompt('Spend.', says('first', usage(101, 23)));
  await here.ended(await here.prompt(id, 'Spend.'));
  const task_id = await here.prompt(id);
  await made.waiting(task_id);
  await made.change(second.id, { limit_tokens: 7_919 });
  await here.ended(task_id);
  expect(await made.logs(task_id, 'budget_warning')).toMatchObject([{ budget_id: first.id, used: 124 / 211 }]);
});

it('a share is reported again once the limit or the shares have changed', async () => {
  const mine = await made.budget({ limit_tokens: 211, warn_at: [0.5] });
  const id = await made.workflow();
  const warned = async () => {
    const task_id = await here.prompt(id);
    await here.ended(task_id);
    return (await made.logs(task_id, 'budget_warning')).length;
  };
  here.model.scriptPrompt('Spend.', says('first', usage(101, 23)));
  await here.ended(await here.prompt(id, 'Spend.'));
  expect(await warned()).toBe(1);
  await made.change(mine.id, { limit_tokens: 211, warn_at: [0.5] });
  expect(await warned()).toBe(0);
  await made.change(mine.id, { limit_tokens: 223 });
  expect(await warned()).toBe(1);
  await made.change(mine.id, { warn_at: [0.3] });
  expect(await warned()).toBe(1);
});

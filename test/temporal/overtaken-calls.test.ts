import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTaskEvents } from '../../src/events/task-events.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { openShop, paidIn } from '../support/runs/paying.ts';
import { resultsOf } from '../support/runs/run-facts.ts';

/** A worker that was taken for lost finds the call of its successor in progress and asks for the outcome, while the tool still runs. */
let here: TestInstallation;
let folder: string;
beforeAll(async () => {
  here = await shareInstallation({ env: { TOOL_ISOLATION: 'none' } });
  folder = await mkdtemp(join(tmpdir(), 'perdura-overtaken-'));
});
afterAll(async () => {
  await here.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A run whose tool runs until `open`, and whose call waits for a person meanwhile. */
async function overtaken(order = 'coffee') {
  const tool = await openShop(here, folder);
  await tool.close();
  here.model.script(tool.pay(order), says('Paid.'));
  const task_id = await here.prompt(tool.workflow_id);
  await tool.paid('1-1');
  const { ledger } = here.core.store;
  const call = (await ledger.open(task_id, '1-1'))!;
  const { log, status } = createTaskEvents(task_id, () => new Date().toISOString());
  const asked = log('reconciliation_requested', 'What was the outcome?', {
    ...{ call_id: '1-1', name: call.name, arguments: call.arguments, restored: false },
  });
  const events = [asked, status('waiting', call.turns)];
  expect(await ledger.park(call, { status: 'waiting_reconciliation', events })).toBe(true);
  const decide = (decision: object) => here.alice.ok(here.alice.post(`/api/tasks/${task_id}/reconciliations/1-1`, decision));
  return { ...tool, task_id, decide };
}

it.for([
  ['result', 'coffee', '{"result": "paid coffee"}', false],
  ['failure', 'nothing', '{"error":"there is nothing to pay"}', true],
] as const)('the %s of the tool answers the question, and the run continues with it', async ([_, order, result, failed]) => {
  const { task_id, workflow_id, place, open } = await overtaken(order);
  await open();
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Paid.' });
  expect(await resultsOf(here, workflow_id)).toEqual([result]);
  expect(await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps`))).toMatchObject([{ tool_calls: [{ failed }] }, {}]);
  expect(await paidIn(place)).toEqual([`1-1 ${order}`]);
});

it.for([
  ['retry', {}, '{"result": "paid coffee"}', 2],
  ['done', { result: { receipt: 7 } }, '{"receipt":7}', 1],
  ['fail', {}, 'The tool call failed; its outcome is unknown.', 1],
] as const)('a person who decided before the tool ended has decided: %s', async ([decision, facts, result, times]) => {
  const { task_id, workflow_id, place, open, decide } = await overtaken();
  await decide({ decision, ...facts });
  await open();
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Paid.' });
  expect(await resultsOf(here, workflow_id)).toEqual([result]);
  expect(await paidIn(place)).toEqual(Array(times).fill('1-1 coffee'));
});

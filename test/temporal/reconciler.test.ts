import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ForkSource, planFork } from '../../src/temporal/start/fork.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { leftBehind, listRunInputs } from '../support/machine/left-behind.ts';
import { asks, fails, hangs, says } from '../support/peers/model-server.ts';
import { compareIn } from '../support/runs/comparison.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const compareLater = () => compareIn(here, 60_000);

interface Step {
  copied: boolean;
  tool_calls: { status: string; attempts: number }[];
}
const sql = (text: string, ...values: unknown[]) => here.core.database.pool.query(text, values);

async function streaming(workflow_id: string) {
  here.model.script(hangs('Half'));
  const task_id = await here.prompt(workflow_id);
  await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
    enough: ({ type }) => type === 'message_delta',
  });
  return task_id;
}

describe('the reconciler', () => {
  it('starts a task that the engine never had', async () => {
    const workflow_id = await here.workflow({ workflow: { auto_memory: true, max_turns: 7 } });
    const task_id = await leftBehind(here, workflow_id);
    here.model.script(says('Found again.'), says('{"facts": []}'), says('As usual.'), says('{"facts": []}'));
    expect((await compareLater()).restarted).toBe(1);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Found again.' });
    expect(await compareLater()).toMatchObject({ compared: 0, restarted: 0, lost: 0 });
    const usual_id = await here.prompt(workflow_id);
    expect(await here.ended(usual_id)).toMatchObject({ status: 'completed', response: 'As usual.' });
    const [[again], [usual]] = [await listRunInputs(here, task_id), await listRunInputs(here, usual_id)];
    expect(usual).toMatchObject({ auto_memory: true, max_turns: 7 });
    expect(again).toEqual({ ...usual, task_id });
  });

  it('starts a fork that the engine never received: it continues at its step and repeats no request, call or cost before it', async () => {
    const { store } = here.core;
    const builtin_tools = ['manage_todo_list'];
    const workflow_id = await here.workflow({ agent: { builtin_tools }, workflow: { max_turns: 2 } });
    const todo = { name: 'manage_todo_list', args: { todoList: [] } };
    here.model.script(asks(todo), asks(todo), says('Source.'));
    const source = (await here.ended(await here.prompt(workflow_id))) as unknown as ForkSource;
    const order = { source, from_step: 3, effects: 'recorded' as const, prompt: 'Once more.' };
    const { definition, seed } = await planFork(store, order);
    const task_id = await leftBehind(here, workflow_id, { definition, seed, trigger: 'fork' });
    const asked = here.model.requests.length;
    here.model.script(asks(todo), says('Fork.'));
    expect((await compareLater()).restarted).toBe(1);
    const ended = await here.ended(task_id);
    expect(ended).toMatchObject({ status: 'completed', response: 'Fork.', turns: 2, steps: 4, turn_limit_reached: true });
    expect(ended.usage.total_in).toBe(20);
    expect(here.model.requests.length).toBe(asked + 2);
    expect(here.model.requests[asked]?.messages.at(-1)?.content).toBe('Once more.');
    const steps = (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps`))) as unknown as Step[];
    expect(steps.map(({ copied }) => copied)).toEqual([true, true, false, false]);
    expect(steps.map(({ tool_calls: [call] }) => call && [call.status, call.attempts])).toEqual([
      ['done', 0],
      ['done', 0],
      ['denied', 0],
      undefined,
    ]);
  });

  it('removes workflows that were made for one request which never came to run, and no others', async () => {
    const { store } = here.core;
    const kept = await here.workflow();
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${kept}`));
    const { owner_key: owner } = (await store.workflows.find(kept))!;
    const once = async () => (await store.workflows.create({ agent_id, owner, owner_login: 'alice', single_use: true })).id;
    const [refused, ran, recent, planned] = [await once(), await once(), await once(), await once()];
    const schedule = { name: 'later', workflow_id: planned, prompt: 'x', interval_value: 1, interval_unit: 'weeks' };
    const start_at = new Date(Date.now() + 3_600_000).toISOString();
    await here.alice.ok(here.alice.post('/api/scheduled-agents', { ...schedule, start_at }), 201);
    here.model.script(says('Ran.'));
    await here.ended(await here.prompt(ran));
    await sql(`UPDATE workflows SET created_at = now() - interval '1 hour' WHERE id <> $1`, recent);
    await compareLater();
    const there = await Promise.all([kept, refused, ran, recent, planned].map((id) => store.workflows.find(id)));
    expect(there.map((found) => found !== null)).toEqual([true, false, true, true, true]);
  });

  it('fails a task whose run was ended in the engine, keeps its text, and lets the next one proceed', async () => {
    const workflow_id = await here.workflow();
    const task_id = await streaming(workflow_id);
    here.model.script(says('Next.'));
    const next = await here.prompt(workflow_id);
    await here.driver.engine.terminate(task_id, 'by an operator');
    expect((await compareLater()).lost).toBe(1);
    expect(await here.ended(task_id)).toMatchObject({ status: 'failed', error_code: 'run_lost' });
    expect(await here.ended(next)).toMatchObject({ status: 'completed', response: 'Next.' });
    const kept = await sql(`SELECT kind, content FROM task_messages WHERE task_id = $1 AND role = 'assistant'`, task_id);
    expect(kept.rows).toEqual([{ kind: 'partial', content: 'Half' }]);
    const events = await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}&after=0`);
    expect(events.at(-1)?.data).toMatchObject({ status: 'failed', error_code: 'run_lost' });
  });

  it('ends an execution whose task is gone', async () => {
    const workflow_id = await here.workflow();
    const task_id = await streaming(workflow_id);
    await sql('DELETE FROM workflows WHERE id = $1', workflow_id);
    let strays = 0;
    // The engine's index of open executions lags behind a little.
    for (let tries = 0; strays === 0 && tries < 40; tries += 1) {
      strays = (await compareLater()).strays;
      await wait(250);
    }
    expect(await here.driver.engine.state(task_id)).toBe('closed');
  });

  it('gives a free lane to the task that waits for it', async () => {
    const workflow_id = await here.workflow();
    const first = await streaming(workflow_id);
    const second = await here.prompt(workflow_id);
    // As if the worker that passed the lane on had died before it could signal the next run.
    await sql(`UPDATE tasks SET status = 'halted', completed_at = now() WHERE id = $1`, first);
    here.model.script(says('My turn.'));
    await compareLater();
    expect(await here.ended(second)).toMatchObject({ status: 'completed', response: 'My turn.' });
  });

  it('delivers a decision that a run did not receive', async () => {
    const workflow_id = await here.workflow({
      agent: { builtin_tools: ['manage_todo_list'], approval_tools: ['manage_todo_list'] },
    });
    here.model.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }), says('Done.'));
    const task_id = await here.prompt(workflow_id);
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
      enough: ({ data }) => data.status === 'waiting',
    });
    await sql(`UPDATE tool_calls SET decision = '{"decision": "approve"}' WHERE task_id = $1`, task_id);
    await compareLater();
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Done.' });
  });

  it('runs by itself, by a schedule of the engine', async () => {
    const schedule = here.driver.client.schedule.getHandle(`reconcile-${here.setting.config.TEMPORAL_TASK_QUEUE}`);
    expect((await schedule.describe()).spec.intervals?.[0]?.every).toBe(60_000);
    await expect.poll(async () => (await schedule.describe()).info.numActionsTaken).toBeGreaterThan(0);
  });
});

describe('an Idempotency-Key', () => {
  it('creates one task even if its first server is lost before it can answer', async () => {
    const workflow_id = await here.workflow();
    here.model.script(says('Once.'));
    const send = () =>
      here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'x' }, { 'idempotency-key': 'lost-one' });
    const { task_id } = await here.alice.ok(send(), 201);
    // As it is when the server dies between the start of the run and its answer.
    await sql(`UPDATE idempotency_keys SET reply = NULL WHERE key = 'lost-one'`);
    expect((await send()).body.code).toBe('idempotency_key_busy');
    await sql(`UPDATE idempotency_keys SET created_at = now() - interval '1 minute' WHERE key = 'lost-one'`);
    expect((await here.alice.ok(send(), 201)).task_id).toBe(task_id);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
    expect((await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).task_count).toBe(1);
  });
});

describe('the steps of a run', () => {
  it('show what went in, what came out and how often it was tried', async () => {
    const workflow_id = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
    here.model.script(fails(500), asks({ name: 'manage_todo_list', args: { todoList: [] } }), says('Done.'));
    const task_id = await here.prompt(workflow_id, 'Tidy up.');
    await here.ended(task_id);
    const [first, second] = (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps`))) as any;
    expect(first).toMatchObject({ step: 1, attempts: 2, errors: 1, input: [{ kind: 'prompt', content: 'Tidy up.' }] });
    expect(first.tool_calls[0]).toMatchObject({
      call_id: '1-1',
      name: 'manage_todo_list',
      status: 'done',
      attempts: 1,
      failed: false,
    });
    expect(second).toMatchObject({
      step: 2,
      output: 'Done.',
      usage: { total_in: 10, total_out: 5 },
      input: [{ kind: 'result' }],
    });
    expect((await here.bob.get(`/api/tasks/${task_id}/steps`)).status).toBe(403);
  });
});

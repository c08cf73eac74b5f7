import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MOST_ALERTS } from '../../src/contracts/alerts.ts';
import { startTestInstallation, type TestInstallation, WEBHOOK_SECRET } from '../support/installation.ts';
import { asks, fails, hangs, says } from '../support/peers/model-server.ts';
import { type Received, startReceiver } from '../support/peers/receiver.ts';
import { compareIn } from '../support/runs/comparison.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  // The worker's own reconciler would measure while a test prepares what is measured.
  here = await startTestInstallation({ env: { RECONCILE_SECONDS: '86400' } });
});
beforeEach(async () => {
  receiver = await startReceiver();
  return () => receiver.stop();
});
afterAll(() => here?.stop());

const create = (workflow_id: string, values: object) =>
  here.alice.ok(here.alice.post('/api/alerts', { name: 'Watch', workflow_id, webhook_url: receiver.url, ...values }), 201);
const read = (id: string) => here.alice.ok(here.alice.get(`/api/alerts/${id}`));
const eventsOf = (id: string) => here.alice.ok(here.alice.get(`/api/alerts/${id}/events`)) as Promise<any[]>;
const measure = () => here.core.store.alerts.measure(new Date());
/** What the reconciler does every minute. */
const minute = async () => {
  await measure();
  await compareIn(here, 0);
};
const received = (count: number) => until(`${count} messages`, async () => receiver.received.length >= count);
const verified = ({ headers, body }: Received) => new Webhook(WEBHOOK_SECRET).verify(body, headers as Record<string, string>);

/** A workflow whose model has a price: an alert about what another one spends is refused. */
async function pricedWorkflow(): Promise<string> {
  const workflow_id = await here.workflow();
  await here.sql(`UPDATE providers SET price_table = '{"*": {"input": 0, "output": 0}}'`);
  return workflow_id;
}

async function ran(workflow_id: string, ...script: Parameters<typeof here.model.script>): Promise<string> {
  here.model.script(...script);
  const task_id = await here.prompt(workflow_id);
  await here.ended(task_id);
  return task_id;
}

describe('an alert', () => {
  it('sends one signed message when it fires and one when it is resolved, and keeps both in its history', async () => {
    const workflow_id = await here.workflow();
    const { id } = await create(workflow_id, { measure: 'failure_rate', threshold: 50, min_runs: 2 });
    await ran(workflow_id, fails(401));
    await minute();
    expect(await read(id)).toMatchObject({ state: 'ok', last_value: 0 });
    await ran(workflow_id, fails(401));
    await minute();
    await minute();
    await received(1);
    expect(await read(id)).toMatchObject({ state: 'firing', last_value: 100 });
    await ran(workflow_id, says('Fine.'));
    await ran(workflow_id, says('Fine.'));
    await ran(workflow_id, says('Fine.'));
    await minute();
    await received(2);
    await minute();
    const [resolved, fired] = await until('the deliveries', async () => {
      const events = await eventsOf(id);
      return events.every(({ delivery_status }) => delivery_status === 'delivered') ? events : null;
    });
    expect(await eventsOf(id)).toHaveLength(2);
    expect(fired).toMatchObject({ state: 'firing', value: 100, threshold: 50, muted: false, delivery_attempts: 1 });
    expect(resolved).toMatchObject({ state: 'ok', value: 40, delivery_error: null });
    const data = { alert_id: id, name: 'Watch', measure: 'failure_rate', threshold: 50, window_minutes: 60, workflow_id };
    const [first, second, ...more] = receiver.received;
    expect(verified(first!)).toMatchObject({ type: 'alert.fired', data: { ...data, value: 100 } });
    expect(verified(second!)).toMatchObject({ type: 'alert.resolved', data: { ...data, value: 40, fired_at: fired!.at } });
    expect(more).toEqual([]);
  });

  it('is measured by one process at a time, so that two of them announce it once', async () => {
    const workflow_id = await here.workflow();
    const { id } = await create(workflow_id, { measure: 'failure_rate', threshold: 1, min_runs: 1 });
    await ran(workflow_id, fails(401));
    await Promise.all([measure(), measure(), measure()]);
    expect(await eventsOf(id)).toHaveLength(1);
  });

  it('is sent again if its receiver refuses it, as any webhook is', async () => {
    const workflow_id = await here.workflow();
    receiver.answers(500);
    const { id } = await create(workflow_id, { measure: 'failure_rate', threshold: 1, min_runs: 1 });
    await ran(workflow_id, fails(401));
    await minute();
    await received(2);
    const event = await until('the delivery', async () => (await eventsOf(id)).find((it) => it.delivery_status === 'delivered'));
    expect(event).toMatchObject({ delivery_attempts: 2, delivery_error: null });
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('that is muted keeps its history and sends nothing; one that is disabled is not measured and fires no longer', async () => {
    const workflow_id = await here.workflow();
    const muted_until = new Date(Date.now() + 3_600_000).toISOString();
    const muted = await create(workflow_id, { measure: 'failure_rate', threshold: 1, min_runs: 1, muted_until });
    const disabled = await create(workflow_id, { measure: 'failure_rate', threshold: 1, min_runs: 1, enabled: false });
    await ran(workflow_id, fails(401));
    await minute();
    expect(await read(muted.id)).toMatchObject({ state: 'firing' });
    expect(await eventsOf(muted.id)).toMatchObject([
      { state: 'firing', muted: true, delivery_status: null, delivery_attempts: 0 },
    ]);
    expect(await read(disabled.id)).toMatchObject({ state: 'ok', last_value: null, measured_at: null });
    expect(await here.alice.ok(here.alice.put(`/api/alerts/${muted.id}`, { enabled: false }))).toMatchObject({ state: 'ok' });
    await minute();
    expect(await eventsOf(muted.id)).toHaveLength(1);
    expect(receiver.received).toEqual([]);
  });

  it.each([
    ['a minute ago', -60_000, false],
    ['until in a minute', 60_000, true],
  ])('that was muted %s sends what this says, when it fires and when it is resolved', async (_, offset_ms, muted) => {
    const workflow_id = await here.workflow();
    const muted_until = new Date(Date.now() + offset_ms).toISOString();
    const values = { measure: 'failure_rate', threshold: 60, min_runs: 1 };
    const { id } = await create(workflow_id, { ...values, muted_until });
    // This one sends in any case, so a message that is missing is not merely late.
    const other = await create(workflow_id, { ...values, name: 'Watch too' });
    await ran(workflow_id, fails(401));
    await minute();
    await ran(workflow_id, says('Fine.'));
    await minute();
    await received(muted ? 2 : 4);
    const sent = receiver.received.map((message) => verified(message) as { type: string; data: { alert_id: string } });
    const typesOf = (alert_id: string) => sent.filter(({ data }) => data.alert_id === alert_id).map(({ type }) => type);
    expect(typesOf(other.id).sort()).toEqual(['alert.fired', 'alert.resolved']);
    expect(typesOf(id).sort()).toEqual(muted ? [] : ['alert.fired', 'alert.resolved']);
    expect(await eventsOf(id)).toMatchObject([
      { state: 'ok', muted },
      { state: 'firing', muted },
    ]);
  });

  it('keeps the newest 200 events', async () => {
    const workflow_id = await here.workflow();
    const { id } = await create(workflow_id, { measure: 'failure_rate', threshold: 1, min_runs: 1, webhook_url: null });
    await here.sql(
      `INSERT INTO alert_events (id, alert_id, state, value, threshold, muted)
        SELECT ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, 'ok', n, 1, false FROM generate_series(1, 205) AS n`,
      id,
    );
    await ran(workflow_id, fails(401));
    await measure();
    const kept = await eventsOf(id);
    expect(kept).toHaveLength(200);
    expect([kept[0]!.value, kept[1]!.value, kept.at(-1)!.value]).toEqual([100, 205, 7]);
  });
});

describe('what an alert measures', () => {
  const measuredBy = async (workflow_id: string, values: object) => {
    const { id } = await create(workflow_id, { threshold: 1_000_000, ...values });
    await measure();
    return (await read(id)).last_value as number;
  };

  it('spend: what model calls cost in the window, also of runs that have not ended', async () => {
    const workflow_id = await pricedWorkflow();
    const [old, long, late] = [
      await ran(workflow_id, says('1')),
      await ran(workflow_id, says('2')),
      await ran(workflow_id, says('3')),
    ];
    const stepsBefore = `UPDATE task_steps SET cost = $2, ended_at = now() - interval '2 hours' WHERE task_id = $1`;
    await here.sql(stepsBefore, old, 5);
    // The run ended within the window, its step before it.
    await here.sql(stepsBefore, long, 100);
    await here.sql(`UPDATE tasks SET completed_at = now() - interval '2 hours' WHERE id = $1`, old);
    await here.sql(`UPDATE task_steps SET cost = 3 WHERE task_id = $1`, late);
    here.model.script(hangs('Half'));
    const open = await here.prompt(workflow_id);
    await until('its step', async () => (await here.sql('SELECT 1 FROM task_steps WHERE task_id = $1', open)).length === 1);
    await here.sql(`UPDATE task_steps SET cost = 0.5 WHERE task_id = $1`, open);
    expect(await measuredBy(workflow_id, { measure: 'spend' })).toBe(3.5);
    expect(await measuredBy(workflow_id, { measure: 'spend', window_minutes: 240 })).toBe(108.5);
    await here.alice.ok(here.alice.post(`/api/tasks/${open}/stop`));
    await here.ended(open);
  });

  it('provider_errors: failed requests to models, also those that were repeated with success', async () => {
    const workflow_id = await here.workflow();
    await ran(workflow_id, fails(500), says('At last.'));
    await ran(workflow_id, fails(401));
    const long = await ran(workflow_id, fails(401));
    await here.sql(`UPDATE task_steps SET started_at = now() - interval '2 hours' WHERE task_id = $1`, long);
    expect(await measuredBy(workflow_id, { measure: 'provider_errors' })).toBe(2);
    expect(await measuredBy(workflow_id, { measure: 'provider_errors', window_minutes: 240 })).toBe(3);
  });

  it('waiting: the minutes that a run has waited for a person; backlog: the runs that wait for their lane', async () => {
    const todo = { name: 'manage_todo_list', args: { todoList: [] } };
    const workflow_id = await here.workflow({
      agent: { builtin_tools: ['manage_todo_list'], approval_tools: ['manage_todo_list'] },
    });
    here.model.script(asks(todo));
    const task_id = await here.prompt(workflow_id);
    const status = async (id: string) => (await here.alice.ok(here.alice.get(`/api/tasks/${id}`))).status;
    await until('the approval', async () => (await status(task_id)) === 'waiting');
    const next = await here.prompt(workflow_id);
    await here.sql(`UPDATE events SET timestamp = timestamp - interval '10 minutes' WHERE task_id = $1`, task_id);
    const minutes = await measuredBy(workflow_id, { measure: 'waiting' });
    expect(minutes).toBeGreaterThanOrEqual(10);
    expect(minutes).toBeLessThan(20);
    expect(await measuredBy(workflow_id, { measure: 'backlog' })).toBe(1);
    for (const id of [next, task_id]) await here.alice.ok(here.alice.post(`/api/tasks/${id}/stop`));
    await here.ended(task_id);
    await here.ended(next);
    expect(await measuredBy(workflow_id, { measure: 'backlog' })).toBe(0);
    expect(await measuredBy(workflow_id, { measure: 'waiting' })).toBe(0);
  });

  it('budget: the share that is spent, and 100 while a run waits because too little is left', async () => {
    const workflow_id = await here.workflow();
    const budget = { name: 'Day', scope: 'workflow', subject_id: workflow_id, period: 'day', limit_tokens: 10_007 };
    const { id: budget_id } = await here.alice.ok(here.alice.post('/api/budgets', budget), 201);
    const watch = async (threshold: number) =>
      (await create(null as never, { name: `At ${threshold}`, measure: 'budget', threshold, budget_id })).id as string;
    const [at80, at100] = [await watch(80), await watch(100)];
    const states = async () => (await Promise.all([at80, at100].map(read))).map(({ state, last_value }) => [state, last_value]);
    const use = (prompt_tokens: number) =>
      ran(workflow_id, says('Used.', { usage: { prompt_tokens, completion_tokens: 1, total_tokens: 0 } }));
    await use(7_999);
    await minute();
    const share = (tokens: number) => expect.closeTo((100 * tokens) / 10_007, 6);
    const under = share(8_000);
    expect(await states()).toEqual([
      ['ok', under],
      ['ok', under],
    ]);
    await use(2_004);
    await minute();
    const nearly = share(10_005);
    expect(await states()).toEqual([
      ['firing', nearly],
      ['ok', nearly],
    ]);
    const waiting = await here.prompt(workflow_id, 'A prompt that needs more than two tokens.');
    await until('the wait', async () => (await here.alice.ok(here.alice.get(`/api/tasks/${waiting}`))).status === 'waiting');
    await minute();
    await received(2);
    expect(await states()).toEqual([
      ['firing', 100],
      ['firing', 100],
    ]);
    const sent = receiver.received.map((message) => verified(message) as { type: string; data: Record<string, unknown> });
    expect(sent).toMatchObject([
      { type: 'alert.fired', data: { name: 'At 80', measure: 'budget', budget_id, workflow_id: null, value: nearly } },
      { type: 'alert.fired', data: { name: 'At 100', measure: 'budget', budget_id, workflow_id: null, value: 100 } },
    ]);
    here.model.script(says('At last.'));
    await here.alice.ok(here.alice.put(`/api/budgets/${budget_id}`, { limit_tokens: 1_000_003 }));
    expect(await here.ended(waiting)).toMatchObject({ status: 'completed' });
    await minute();
    await received(4);
    expect((await states()).map(([state]) => state)).toEqual(['ok', 'ok']);
    await here.alice.ok(here.alice.del(`/api/budgets/${budget_id}`), 204);
    expect(await here.alice.get(`/api/alerts/${at80}`)).toMatchObject({ status: 404 });
  });

  it("is of the owner's runs, or of one workflow", async () => {
    const [one, other] = [await here.workflow(), await here.workflow()];
    await here.sql(`UPDATE tasks SET completed_at = now() - interval '1 day' WHERE completed_at IS NOT NULL`);
    await ran(one, fails(401));
    await ran(other, says('Fine.'));
    const rate = { measure: 'failure_rate', min_runs: 1 };
    expect(await measuredBy(one, rate)).toBe(100);
    expect(await measuredBy(other, rate)).toBe(0);
    const { id } = await here.alice.ok(here.alice.post('/api/alerts', { name: 'All', threshold: 101, ...rate }), 201);
    const bobs = await here.bob.ok(here.bob.post('/api/alerts', { name: 'All', threshold: 101, ...rate }), 201);
    await measure();
    expect((await read(id)).last_value).toBe(50);
    expect((await here.bob.ok(here.bob.get(`/api/alerts/${bobs.id}`))).last_value).toBe(0);
  });
});

describe('the API of alerts', () => {
  it('refuses a budget of someone else, one that does not exist, and one that nothing watches', async () => {
    const { id: budget_id } = await here.alice.ok(
      here.alice.post('/api/budgets', { name: 'Hers', scope: 'person', period: 'day', limit_tokens: 10_007 }),
      201,
    );
    const post = (who: typeof here.alice, values: object) =>
      who.post('/api/alerts', { name: 'x', measure: 'budget', threshold: 80, ...values });
    const refusal = async (values: object) => ((await post(here.alice, values)).body as Record<string, any>).errors?.[0];
    expect(await post(here.bob, { budget_id })).toMatchObject({
      status: 403,
      body: { detail: 'This budget belongs to someone else' },
    });
    const unknown = '0197a0c4-0000-7000-8000-000000000099';
    expect(await refusal({ budget_id: unknown })).toEqual({ path: 'budget_id', message: `No budget with id ${unknown}` });
    expect(await refusal({})).toMatchObject({ path: 'budget_id', message: expect.stringContaining('Name the id') });
    expect(await refusal({ budget_id, measure: 'backlog' })).toMatchObject({ path: 'budget_id' });
    expect(await refusal({ budget_id, workflow_id: await here.workflow() })).toMatchObject({ path: 'workflow_id' });
    const { id } = await here.alice.ok(post(here.alice, { budget_id }), 201);
    expect(await here.alice.put(`/api/alerts/${id}`, { measure: 'backlog' })).toMatchObject({ status: 422 });
    await here.alice.ok(here.alice.put(`/api/alerts/${id}`, { measure: 'backlog', budget_id: null }));
    const { id: of_alice } = await here.alice.ok(post(here.alice, { budget_id }), 201);
    const { id: of_bob } = await here.bob.ok(
      here.bob.post('/api/alerts', { name: 'x', measure: 'backlog', threshold: 1_000_000 }),
      201,
    );
    expect(await here.bob.put(`/api/alerts/${of_bob}`, { measure: 'budget', budget_id })).toMatchObject({ status: 403 });
    // As after its owner lost the right to see the budget.
    await here.sql(`UPDATE alerts SET measure = 'budget', budget_id = $2 WHERE id = $1`, of_bob, budget_id);
    await ran(await here.workflow(), says('Used.', { usage: { prompt_tokens: 9_001, completion_tokens: 1, total_tokens: 0 } }));
    await measure();
    expect(await read(of_alice)).toMatchObject({ state: 'firing', last_value: expect.closeTo((100 * 9_002) / 10_007, 6) });
    expect(await here.bob.ok(here.bob.get(`/api/alerts/${of_bob}`))).toMatchObject({ state: 'ok', last_value: 0 });
    await here.alice.ok(here.alice.del(`/api/budgets/${budget_id}`), 204);
  });

  it("refuses someone else's workflow and one that does not exist", async () => {
    const body = { name: 'x', measure: 'spend', threshold: 1, workflow_id: await here.workflow() };
    expect(await here.bob.post('/api/alerts', body)).toMatchObject({ status: 403 });
    const unknown = '01900000-0000-7000-8000-000000000000';
    const refused = await here.bob.post('/api/alerts', { ...body, workflow_id: unknown });
    expect([refused.status, refused.body.errors[0].path]).toEqual([422, 'workflow_id']);
    const { id } = await here.bob.ok(here.bob.post('/api/alerts', { ...body, workflow_id: null }), 201);
    expect(await here.bob.put(`/api/alerts/${id}`, { workflow_id: body.workflow_id })).toMatchObject({ status: 403 });
  });

  it('ends with its workflow, and limits how many one person has', async () => {
    const workflow_id = await pricedWorkflow();
    const { id } = await create(workflow_id, { measure: 'spend', threshold: 1 });
    await here.alice.ok(here.alice.del(`/api/workflows/${workflow_id}`), 204);
    expect((await here.alice.get(`/api/alerts/${id}`)).status).toBe(404);
    const [{ count }] = await here.sql(`SELECT count(*)::int FROM alerts WHERE owner = 'local:bob'`);
    const body = { name: 'x', measure: 'spend', threshold: 1 };
    for (let n = count; n < MOST_ALERTS; n += 1) await here.bob.ok(here.bob.post('/api/alerts', body), 201);
    expect(await here.bob.post('/api/alerts', body)).toMatchObject({ status: 409, body: { code: 'alerts_limit' } });
  });
});

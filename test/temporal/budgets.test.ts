import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, breaksOff, fails, hangs, says } from '../support/peers/model-server.ts';
import { openBudgets, usage } from '../support/runs/budgets.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let made: ReturnType<typeof openBudgets>;
beforeAll(async () => {
  // Bob administers. Runs are woken by what ends and what changes; the reconciler comes too late to help.
  here = await startTestInstallation({ env: { ADMIN_SUBJECTS: 'local:bob', RECONCILE_SECONDS: '86400' } });
  made = openBudgets(here);
});
beforeEach(async () => {
  here.model.always(says('done'));
  await here.sql('DELETE FROM budgets');
});
afterAll(() => here?.stop());

describe('what a budget counts', () => {
  it('is the usage of its runs, reserved while a call is in progress', async () => {
    const id = await made.workflow();
    const mine = await made.budget({ scope: 'workflow', subject_id: id, limit_usd: 53 });
    const total = await made.budget({ scope: 'installation', limit_tokens: 7_919 }, here.bob);
    const other = await made.budget({ scope: 'workflow', subject_id: await made.workflow(), limit_usd: 53 });
    let answer = () => {};
    here.model.script(says('one two', { ...usage(101, 13), until: new Promise<void>((resolve) => (answer = resolve)) }));
    const task_id = await here.prompt(id);
    const during = await until('the reservation', async () => {
      const state = await made.read(mine.id);
      return state.reserved > 0 ? state : null;
    });
    expect(during).toMatchObject({ spent: 0, left: 53 - during.reserved, used: 0 });
    answer();
    await here.ended(task_id);
    expect(await made.read(mine.id)).toMatchObject({ spent: 0.114, reserved: 0, left: 53 - 0.114, used: 0.114 / 53 });
    expect(await made.read(total.id)).toMatchObject({ spent: 114, reserved: 0 });
    expect(await made.read(other.id)).toMatchObject({ spent: 0, reserved: 0 });
    expect(await made.reservations()).toEqual([]);
  });

  it('includes what a failed attempt has used, once, and nothing of a refused one', async () => {
    const id = await made.workflow();
    const mine = await made.budget({ limit_tokens: 7_919 });
    here.model.script(fails(500), breaksOff('Half'), says('whole', usage(101, 13)));
    const task = await here.ended(await here.prompt(id));
    expect(task.status).toBe('completed');
    expect(task.usage.total_in).toBeGreaterThan(101);
    expect(await made.read(mine.id)).toMatchObject({ spent: task.usage.total_in + task.usage.total_out, reserved: 0 });
    expect(await made.reservations()).toEqual([]);
  });

  it('includes what a halted call has used', async () => {
    const id = await made.workflow();
    const mine = await made.budget({ limit_tokens: 7_919 });
    here.model.script(hangs('Some text of the answer '));
    const task_id = await here.prompt(id);
    await here.events(task_id, { enough: ({ type }) => type === 'message_delta' });
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    const { usage: used } = await here.ended(task_id);
    expect(used.total_in).toBeGreaterThan(0);
    expect(await made.read(mine.id)).toMatchObject({ spent: used.total_in + used.total_out });
    await until('the release', async () => (await made.reservations()).length === 0);
  });

  it('includes summaries and memories', async () => {
    const [chain, workflow_values] = [{ context_window: 2_500 }, { auto_memory: true, max_turns: 9 }];
    const tool = 'def pages() -> str:\n    """Returns pages."""\n    return "page " * 1200';
    const agent = { provider_id: await made.provider(chain) };
    const id = await here.workflow({ agent, workflow: workflow_values, tools: [tool] });
    const mine = await made.budget({ limit_tokens: 1_000_003 });
    here.model.always((response, request) => {
      const asked = request.messages.filter(({ role }) => role === 'tool').length;
      const name = request.tools?.[0]?.function.name;
      return (name && asked < 2 ? asks({ name }) : says('{"facts": []}', usage(101, 13)))(response, request);
    });
    const task = await here.ended(await here.prompt(id, 'Read the pages.'), 40_000);
    const spent = task.usage.total_in + task.usage.total_out;
    expect(await made.logs(task.id, 'compaction')).not.toEqual([]);
    expect(await made.read(mine.id)).toMatchObject({ spent, reserved: 0 });
  });
});

describe('a call that does not fit', () => {
  it('waits, and continues when the budget is raised', async () => {
    const id = await made.workflow();
    const mine = await made.budget({ scope: 'workflow', subject_id: id, limit_usd: 0.13 });
    here.model.script(says('first', usage(101, 23)));
    await here.ended(await here.prompt(id));
    const task_id = await here.prompt(id);
    await made.waiting(task_id);
    const [exhausted] = await made.logs(task_id, 'budget_exhausted');
    expect(exhausted).toMatchObject({ budget_id: mine.id, until: mine.period_ends_at, on_exhausted: 'wait' });
    expect(exhausted.detail).toMatch(/The budget Team of 0.13 US dollars is used up until .*: 0.124 US dollars are spent/);
    await here.alice.ok(here.alice.put(`/api/budgets/${mine.id}`, { limit_usd: 53 }));
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'done' });
  });

  it('continues when the budget is deleted', async () => {
    const id = await made.workflow();
    const mine = await made.budget({ limit_tokens: 131 });
    here.model.script(says('first', usage(101, 31)));
    await here.ended(await here.prompt(id));
    const task_id = await here.prompt(id);
    await made.waiting(task_id);
    await here.alice.ok(here.alice.del(`/api/budgets/${mine.id}`), 204);
    expect((await here.ended(task_id)).status).toBe('completed');
  });

  it('continues by itself when the next period begins', async () => {
    const id = await made.workflow();
    const mine = await made.budget({ limit_tokens: 131 });
    here.model.script(says('first', usage(101, 31)));
    await here.ended(await here.prompt(id));
    const task_id = await here.prompt(id);
    await made.waiting(task_id);
    // As if the present day were yesterday.
    await here.sql(
      `UPDATE budget_periods SET starts_at = starts_at - interval '1 day', ends_at = ends_at - interval '1 day' WHERE budget_id = $1`,
      mine.id,
    );
    expect(await here.core.store.caps.raiseWaiting()).toEqual([task_id]);
    expect(await here.core.store.caps.raiseWaiting()).toEqual([]);
    await here.driver.engine.raise(task_id);
    expect((await here.ended(task_id)).status).toBe('completed');
    expect(await made.read(mine.id)).toMatchObject({ spent: 15 });
  });

  it('fails if the whole budget is less than it needs', async () => {
    const id = await made.workflow();
    await made.budget({ limit_tokens: 3 });
    const task = await here.ended(await here.prompt(id, 'A prompt that is longer than three tokens.'));
    expect(task).toMatchObject({ status: 'failed', error_code: 'budget_too_small' });
    expect(task.error).toMatch(/The budget Team of 3 tokens is less than the next call needs/);
  });

  it('waits while its model has no price, if the budget is in dollars', async () => {
    const id = await made.workflow({}, { price_table: {} });
    await made.budget({ limit_usd: 53 });
    const task_id = await here.prompt(id);
    await made.waiting(task_id);
    const [exhausted] = await made.logs(task_id, 'budget_exhausted');
    expect(exhausted.detail).toMatch(/cannot count the model scripted, which has no price/);
    expect(await here.core.store.caps.raiseWaiting()).toEqual([]);
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    await here.ended(task_id);
  });

  it('gives its request slot back', async () => {
    const id = await made.workflow({}, { requests_per_minute: 1 });
    const mine = await made.budget({ limit_tokens: 131 });
    const other = await made.workflow();
    here.model.script(says('first', usage(101, 31)));
    await here.ended(await here.prompt(other));
    const task_id = await here.prompt(id);
    await made.waiting(task_id);
    await here.alice.ok(here.alice.put(`/api/budgets/${mine.id}`, { limit_tokens: 7_919 }));
    expect((await here.ended(task_id)).status).toBe('completed');
  });
});

describe('a budget that refuses', () => {
  it('answers prompts with 429 until its period ends, and warns before', async () => {
    const id = await made.workflow();
    const mine = await made.budget({ limit_tokens: 113, on_exhausted: 'refuse', warn_at: [0.5] });
    here.model.script(says('first', usage(47, 9)), says('second', usage(47, 11)));
    await here.ended(await here.prompt(id));
    const first = await here.alice.post(`/api/workflows/${id}/prompt`, { prompt: 'x' });
    expect(first).toMatchObject({ status: 201 });
    expect(first.body.warnings).toBeUndefined();
    await here.ended(first.body.task_id);
    expect(await made.read(mine.id)).toMatchObject({ spent: 114, left: 0 });
    const refused = await here.alice.post(`/api/workflows/${id}/prompt`, { prompt: 'x' });
    expect(refused).toMatchObject({ status: 429, body: { code: 'budget_spent' } });
    expect(refused.body.detail).toMatch(/The budget Team of 113 tokens is used up until .*T00:00:00Z: 114 tokens are spent/);
    const left_s = (Date.parse(mine.period_ends_at) - Date.now()) / 1_000;
    expect(Math.abs(Number(refused.headers.get('retry-after')) - left_s)).toBeLessThan(30);
    await here.alice.ok(here.alice.put(`/api/budgets/${mine.id}`, { limit_tokens: 199 }));
    const warned = await here.alice.post(`/api/workflows/${id}/prompt`, { prompt: 'x' });
    expect(warned).toMatchObject({ status: 201, body: { warnings: [{ path: 'prompt' }] } });
    expect(warned.body.warnings[0].message).toMatch(/^57 % of the budget Team of 199 tokens are spent/);
    await here.ended(warned.body.task_id);
    expect(await made.logs(warned.body.task_id, 'budget_warning')).toMatchObject([{ budget_id: mine.id, used: 114 / 199 }]);
    const again = await here.prompt(id);
    await here.ended(again);
    expect(await made.logs(again, 'budget_warning')).toEqual([]);
  });
});

describe('a call whose worker is lost', () => {
  it('counts for half a minute, and is then removed, like what else nobody needs', async () => {
    const id = await made.workflow();
    const mine = await made.budget({ limit_tokens: 7_919 });
    await here.ended(await here.prompt(id));
    const lose = (lease: string) =>
      here.sql(
        `INSERT INTO budget_reservations SELECT gen_random_uuid(), budget_id, starts_at, gen_random_uuid(), 0, 4099, now() + $2::interval
           FROM budget_periods WHERE budget_id = $1`,
        mine.id,
        lease,
      );
    await lose('30 seconds');
    await lose('-1 seconds');
    expect(await made.read(mine.id)).toMatchObject({ spent: 15, reserved: 4_099 });
    const periods = (ago: string) =>
      here.sql(
        `INSERT INTO budget_periods SELECT budget_id, starts_at - $2::interval, ends_at - $2::interval FROM budget_periods
          WHERE budget_id = $1 AND cost > 0`,
        mine.id,
        ago,
      );
    await periods('39 days');
    await periods('41 days');
    await here.sql(`INSERT INTO budget_waits (task_id, budget_id, reason) VALUES (gen_random_uuid(), $1, 'busy')`, mine.id);
    await here.core.store.caps.sweep();
    expect(await made.reservations()).toMatchObject([{ tokens: 4_099 }]);
    expect(await here.sql('SELECT * FROM budget_waits')).toEqual([]);
    expect(await here.sql('SELECT * FROM budget_periods WHERE budget_id = $1', mine.id)).toHaveLength(2);
  });

  it('is prolonged as long as its worker lives', async () => {
    const id = await made.workflow();
    await made.budget({ limit_tokens: 7_919 });
    let answer = () => {};
    here.model.script(says('one two', { until: new Promise<void>((resolve) => (answer = resolve)) }));
    const task_id = await here.prompt(id);
    await until('the reservation', async () => (await made.reservations()).length > 0);
    await here.sql(`UPDATE budget_reservations SET alive_until = now() + interval '1 second'`);
    await until(
      'the prolongation',
      async () =>
        (await here.sql(`SELECT 1 FROM budget_reservations WHERE alive_until > now() + interval '20 seconds'`)).length > 0,
    );
    answer();
    expect((await here.ended(task_id)).status).toBe('completed');
  });
});

describe('fifty runs at once', () => {
  it('spend no more than the budget and one call; the others continue when it is raised', async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, () => made.workflow({ max_output_tokens: 397 })));
    // Each call costs 0.4, almost all of which is reserved as its longest answer. The 18th is alone and takes what is left.
    here.model.always(says('done', usage(3, 397)));
    const mine = await made.budget({ limit_usd: 7 });
    const tasks = await Promise.all(ids.map((id) => here.prompt(id)));
    const count = async (status: string) =>
      (await here.sql('SELECT count(*)::int AS runs FROM tasks WHERE id = ANY ($1) AND status = $2', tasks, status))[0].runs;
    await until('the end or the wait of each', async () => (await count('completed')) + (await count('waiting')) === 50, 60_000);
    await until('the last call', async () => (await count('completed')) === 18, 60_000);
    const { spent, reserved } = await made.read(mine.id);
    const [{ paid }] = await here.sql('SELECT sum(cost) AS paid FROM tasks WHERE id = ANY ($1)', tasks);
    expect(spent).toBeCloseTo(paid, 9);
    expect(spent).toBeCloseTo(7.2, 9);
    expect(reserved).toBe(0);
    await here.alice.ok(here.alice.put(`/api/budgets/${mine.id}`, { limit_usd: 53 }));
    await until('all ends', async () => (await count('completed')) === 50, 60_000);
    expect((await made.read(mine.id)).spent).toBeCloseTo(20, 9);
  }, 200_000);
});

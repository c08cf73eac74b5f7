import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LIVE_STATUSES } from '../../src/domain/statuses.ts';
import type { IdentityCheck } from '../../src/identity/cached-identity.ts';
import { reconcileSchedules } from '../../src/temporal/repair/reconcile-schedules.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

const known = new Set([ALICE]);
/** Accepts the tokens in `known`. */
const identify: IdentityCheck = async (token) =>
  known.has(token) || token.startsWith('fleeting-') ? { provider: 'local', subject: 'alice', login: 'alice' } : null;

const MOST_TASKS = 10;
let here: TestInstallation;
beforeAll(async () => {
  // The worker's own reconciler would repair what a test breaks before the test can repair it.
  const env = { RECONCILE_SECONDS: '86400', RUNNING_TASKS_PER_PRINCIPAL: String(MOST_TASKS) };
  here = await startTestInstallation({ env, setting: { identity_providers: [identify] } });
  here.model.always(says('done'));
});
afterAll(() => here?.stop());

const PATH = '/api/scheduled-agents';
const soon = (ms = 1500) => new Date(Date.now() + ms).toISOString();
const later = () => new Date(Date.now() + 3_600_000).toISOString();

/** Hourly, so that no schedule of one test runs in another, however long they take. */
async function create(values: object = {}, workflow_id?: string) {
  const body = { name: 'every hour', prompt: 'Report.', interval_value: 1, interval_unit: 'hours', start_at: later() };
  return here.alice.ok(here.alice.post(PATH, { ...body, workflow_id: workflow_id ?? (await here.workflow()), ...values }), 201);
}
const read = (id: string) => here.alice.ok(here.alice.get(`${PATH}/${id}`));
const runs = (id: string) => here.alice.ok(here.alice.get(`${PATH}/${id}/runs`)) as Promise<any[]>;
const fired = (id: string) => until('the run', async () => (await runs(id)).find(({ outcome }) => outcome !== 'firing'));
const whole = (time: string) => new Date(Math.floor(Date.parse(time) / 1000) * 1000).toISOString();
const engineSchedule = (id: string) => here.driver.client.schedule.getHandle(`schedule-${id}`);

/** The list of the engine lags behind. */
const listedAsDifferent = (id: string) =>
  until('the engine’s list', async () => {
    const row = (await here.core.store.scheduledAgents.find(id))!;
    return (await here.driver.schedules.overview([row])).get(id) === false;
  });
const changedAMinuteAgo = (id: string) =>
  here.core.database.pool.query(`UPDATE scheduled_agents SET updated_at = now() - interval '1 minute' WHERE id = $1`, [id]);

/** A schedule that the engine has before it is due, however slow the machine is. */
async function createAhead(workflow_id: string, lead_ms = 5_000): Promise<{ id: string; start_at: string; made: object }> {
  const start_at = soon(lead_ms);
  const made = await create({ start_at }, workflow_id);
  const next = await here.driver.schedules.nextRun(made.id);
  if (next?.toISOString() === whole(start_at)) return { id: made.id, start_at, made };
  await here.alice.del(`${PATH}/${made.id}`);
  return createAhead(workflow_id, lead_ms * 2);
}

it('runs first at start_at, in the name of its creator, and says when it ran and will run; not while it is disabled', async () => {
  const workflow_id = await here.workflow();
  const { id: disabled } = await create();
  const { id, start_at, made } = await createAhead(workflow_id);
  const disable = here.alice.patch(`${PATH}/${disabled}/disable`);
  expect(await here.alice.ok(disable)).toMatchObject({ enabled: false, next_run_at: null });
  await here.alice.ok(here.alice.patch(`${PATH}/${disabled}`, { start_at }));
  expect(made).toMatchObject({ next_run_at: whole(start_at), last_run_at: null, enabled: true });
  const run = await fired(id);
  expect(run).toMatchObject({ outcome: 'started', due_at: whole(start_at) });
  const task = await here.ended(run.task_id);
  expect(task).toMatchObject({ status: 'completed', prompt: 'Report.', trigger: 'schedule', scheduled_agent_id: id });
  const after = await read(id);
  expect(Date.parse(after.last_run_at)).toBeGreaterThanOrEqual(Date.parse(whole(start_at)));
  expect(Date.parse(after.next_run_at)).toBe(Date.parse(whole(start_at)) + 3_600_000);
  expect(await runs(id)).toHaveLength(1);
  // It was due at the same moment.
  expect(await runs(disabled)).toEqual([]);
  const enabled = await here.alice.ok(here.alice.patch(`${PATH}/${disabled}/enable`));
  expect(enabled.enabled).toBe(true);
  expect(Date.parse(enabled.next_run_at)).toBeGreaterThan(Date.now());
});

it('reports the same next time as the engine, in every unit, after every change', async () => {
  // An engine that is busy may leave a question unanswered.
  const engines = (id: string) =>
    here.driver.schedules.nextRun(id).then(
      (time) => time?.toISOString() ?? null,
      () => 'unanswered',
    );
  const agrees = (id: string) =>
    until('the engine’s next time', async () => (await engines(id)) === (await read(id)).next_run_at);
  const { id } = await create();
  await agrees(id);
  for (const interval_unit of ['hours', 'days', 'weeks']) {
    const start_at = new Date(Date.now() - 1_000_000).toISOString();
    await here.alice.ok(here.alice.patch(`${PATH}/${id}`, { interval_unit, interval_value: 2, start_at }));
    await agrees(id);
  }
  await here.alice.ok(here.alice.patch(`${PATH}/${id}`, { end_at: soon(60_000) }));
  expect((await read(id)).next_run_at).toBeNull();
  await agrees(id);
  await here.alice.ok(here.alice.patch(`${PATH}/${id}`, { end_at: null }));
  expect((await read(id)).next_run_at).not.toBeNull();
  await agrees(id);
});

it('skips a run while the previous one is running, and records it; interrupt ends the previous one', async () => {
  const workflow_id = await here.workflow();
  const prompt = 'Report for hours.';
  const { id } = await create({ prompt }, workflow_id);
  here.model.scriptPrompt(prompt, hangs('thinking'));
  const first = await here.alice.ok(here.alice.post(`${PATH}/${id}/trigger`), 201);
  expect(first).toMatchObject({ outcome: 'triggered', task_id: expect.any(String) });
  const refused = await here.alice.post(`${PATH}/${id}/trigger`);
  expect(refused).toMatchObject({ status: 409, body: { code: 'trigger_skipped' } });
  expect((await runs(id)).map(({ outcome }) => outcome)).toEqual(['skipped', 'triggered']);
  await here.alice.ok(here.alice.patch(`${PATH}/${id}`, { overlap_policy: 'interrupt' }));
  const second = await here.alice.ok(here.alice.post(`${PATH}/${id}/trigger`), 201);
  expect((await here.ended(first.task_id)).status).toBe('halted');
  expect((await here.ended(second.task_id)).status).toBe('completed');
});

/** How a run of a schedule comes to each status. */
const REACHES: Record<(typeof LIVE_STATUSES)[number], (workflow_id: string, prompt: string) => Promise<unknown>> = {
  async pending(workflow_id) {
    const prompt = 'Keep the lane.';
    here.model.scriptPrompt(prompt, hangs('keeps the lane'));
    const holder = await here.prompt(workflow_id, prompt);
    await until('the lane', async () => (await statusOf(holder)) === 'running');
  },
  running: async (_, prompt) => here.model.scriptPrompt(prompt, hangs('thinking')),
  waiting: (workflow_id) =>
    here.alice.ok(here.alice.put(`/api/workflows/${workflow_id}`, { budget: { max_tokens: 1, on_exhausted: 'wait' } })),
};
const statusOf = async (task_id: string) => (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).status;

it.each(LIVE_STATUSES)('with `skip` starts nothing while its last run is %s, and runs again after its end', async (status) => {
  const workflow_id = await here.workflow();
  const prompt = `Report while ${status}.`;
  await REACHES[status](workflow_id, prompt);
  // While the lane is taken, only another policy starts a run that waits for it.
  const { id } = await create({ overlap_policy: status === 'pending' ? 'enqueue' : 'skip', prompt }, workflow_id);
  const { task_id } = await here.alice.ok(here.alice.post(`${PATH}/${id}/trigger`), 201);
  await until(status, async () => (await statusOf(task_id)) === status);
  await here.alice.ok(here.alice.patch(`${PATH}/${id}`, { overlap_policy: 'skip' }));
  expect(await here.alice.post(`${PATH}/${id}/trigger`)).toMatchObject({ status: 409, body: { code: 'trigger_skipped' } });
  await engineSchedule(id).trigger();
  const skipped = await until('the fire', async () => {
    const settled = (await runs(id)).filter(({ outcome }) => outcome === 'skipped');
    return settled.length === 2 && settled;
  });
  expect(skipped).toMatchObject(Array(2).fill({ task_id: null, detail: expect.stringContaining(task_id) }));
  expect(await statusOf(task_id)).toBe(status);
  await here.alice.ok(here.alice.put(`/api/workflows/${workflow_id}`, { budget: null }));
  await here.alice.ok(here.alice.post(`/api/workflows/${workflow_id}/halt`));
  await here.alice.post(`/api/tasks/${task_id}/stop`);
  await here.ended(task_id);
  const again = await here.alice.ok(here.alice.post(`${PATH}/${id}/trigger`), 201);
  expect(await here.ended(again.task_id)).toMatchObject({ status: 'completed' });
});

it('records a fire as failed when the identity provider refuses the token that the default runtime needs', async () => {
  const token = `fleeting-${randomBytes(4).toString('hex')}`;
  known.delete(token);
  const workflow_id = await here.workflow({ agent: { provider_id: null } });
  const { id } = await create({ start_at: later() }, workflow_id);
  await here.core.store.scheduledAgents.update(id, {}, { access_token: 'withdrawn-token', service_key_id: null });
  await engineSchedule(id).trigger();
  expect(await fired(id)).toMatchObject({ outcome: 'failed', task_id: null, detail: expect.stringContaining('access token') });
  expect((await read(id)).last_run_at).toBeNull();
});

it('keeps a time that is due while its owner has too many tasks: it waits by the name of the limit, and runs when there is room', async () => {
  const { id } = await create();
  const busy = await here.workflow();
  // What is left over from other tests counts as well.
  const [open] = (
    await here.core.database.pool.query(`SELECT count(*)::int AS n FROM tasks WHERE status IN ('pending', 'running', 'waiting')`)
  ).rows;
  here.model.always(hangs('busy'));
  const tasks: string[] = [];
  for (let n = open.n; n < MOST_TASKS; n += 1) tasks.push(await here.prompt(busy, 'x', { on_busy: 'enqueue' }));
  expect(await here.alice.post(`${PATH}/${id}/trigger`)).toMatchObject({ status: 429, body: { code: 'running_tasks_limit' } });
  const limit = expect.stringContaining('RUNNING_TASKS_PER_PRINCIPAL');
  expect(await runs(id)).toMatchObject([{ outcome: 'failed', task_id: null, detail: limit }]);
  await engineSchedule(id).trigger();
  const waiting = await until('the fire', async () =>
    (await runs(id)).find(({ outcome, detail }) => outcome === 'firing' && detail),
  );
  expect(waiting).toMatchObject({ detail: limit, task_status: null });
  here.model.always(says('done'));
  for (const task_id of tasks.reverse()) await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
  const started = await until('the run', async () => (await runs(id)).find(({ outcome }) => outcome === 'started'), 60_000);
  expect(started).toMatchObject({ due_at: waiting.due_at, detail: null });
  expect(await here.ended(started.task_id)).toMatchObject({ status: 'completed' });
}, 120_000);

it('lists the times it missed while the service was down', async () => {
  const { id } = await create({ catchup_window_seconds: 10, interval_unit: 'minutes' });
  const long_ago = new Date(Date.now() - 200_000).toISOString();
  await here.core.database.pool.query('UPDATE scheduled_agents SET start_at = $2, updated_at = $2 WHERE id = $1', [id, long_ago]);
  const missed = await runs(id);
  expect(missed.map(({ outcome }) => outcome)).toEqual(['missed', 'missed']);
  expect(missed[0].task_id).toBeNull();
  await here.alice.del(`${PATH}/${id}`);
});

it('keeps rows and the engine the same: saves a schedule that differs, removes one without a row', async () => {
  const { id } = await create();
  const stray = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
  await here.driver.schedules.save({ ...(await here.core.store.scheduledAgents.find(id))!, id: stray });
  await here.driver.schedules.remove(id);
  await until('the engine to list it', async () => {
    const listed = await here.driver.schedules.overview([]);
    return listed.has(stray) && !listed.has(id);
  });
  const { saved, removed } = await reconcileSchedules(here.core.store, here.driver.schedules);
  expect(saved).toContain(id);
  expect(removed).toEqual([stray]);
  expect((await reconcileSchedules(here.core.store, here.driver.schedules)).saved).toEqual([]);
});

it('stays paused if someone pauses it in the engine: the record takes the pause over, and enabling it ends the pause', async () => {
  const { id } = await create();
  const paused = async () => (await engineSchedule(id).describe()).state;
  const compare = () => reconcileSchedules(here.core.store, here.driver.schedules);
  await engineSchedule(id).pause('Not during the audit');
  await here.alice.ok(here.alice.patch(`${PATH}/${id}`, { name: 'every hour or so' }));
  expect(await paused()).toMatchObject({ paused: true, note: 'Not during the audit' });
  await listedAsDifferent(id);
  // What was changed a moment ago may be on its way to the engine.
  expect((await compare()).disabled).toEqual([]);
  expect(await read(id)).toMatchObject({ enabled: true });
  await changedAMinuteAgo(id);
  expect(await compare()).toMatchObject({ disabled: [id], saved: [], removed: [] });
  expect(await read(id)).toMatchObject({ enabled: false, next_run_at: null });
  expect((await compare()).disabled).toEqual([]);
  expect(await here.alice.ok(here.alice.patch(`${PATH}/${id}/enable`))).toMatchObject({ enabled: true });
  expect(await paused()).toMatchObject({ paused: false });
  await here.alice.ok(here.alice.patch(`${PATH}/${id}/disable`));
  await here.alice.ok(here.alice.patch(`${PATH}/${id}/enable`));
  expect(await paused()).toMatchObject({ paused: false });
});

it('is enabled in the engine although an older version paused it there, which left no note', async () => {
  const { id } = await create();
  await engineSchedule(id).update((known) => ({ ...known, state: { ...known.state, paused: true, note: '' } }));
  await changedAMinuteAgo(id);
  await listedAsDifferent(id);
  const { saved, disabled } = await reconcileSchedules(here.core.store, here.driver.schedules);
  expect([saved, disabled]).toEqual([[id], []]);
  expect((await engineSchedule(id).describe()).state.paused).toBe(false);
});

it('is what it was last made, also when it is changed or deleted while rows and the engine are compared', async () => {
  const { scheduledAgents } = here.core.store;
  const { id } = await create();
  await here.core.database.pool.query('UPDATE scheduled_agents SET interval_value = 7 WHERE id = $1', [id]);
  /** Reads rows, of which one is changed at once by somebody else. */
  const overtaken = (...changes: (() => Promise<unknown>)[]) => {
    const read = async <T>(rows: T) => {
      await changes.shift()?.();
      return rows;
    };
    const find = async (asked: string) => (asked === id ? read(await scheduledAgents.find(id)) : scheduledAgents.find(asked));
    return { scheduledAgents: { ...scheduledAgents, find, all: async () => read(await scheduledAgents.all()) } };
  };
  const change = (interval_value: number) => () => here.alice.ok(here.alice.patch(`${PATH}/${id}`, { interval_value }));
  await reconcileSchedules(overtaken(change(8), change(9)), here.driver.schedules);
  const row = (await scheduledAgents.find(id))!;
  expect([row.interval_value, await here.driver.schedules.matches(row)]).toEqual([9, true]);
  const others: Partial<typeof row> = {
    ...{ interval_value: 7, interval_unit: 'weeks', jitter_seconds: 7, enabled: false },
    ...{ start_at: new Date('2029-01-01T00:00:00Z'), end_at: new Date('2999-01-01T00:00:00Z') },
  };
  const taken_for_same: string[] = [];
  for (const [field, value] of Object.entries(others))
    if (await here.driver.schedules.matches({ ...row, [field]: value })) taken_for_same.push(field);
  expect(taken_for_same).toEqual([]);

  await engineSchedule(id).delete();
  await until('the list of the engine without it', async () => !(await here.driver.schedules.overview([row])).has(id));
  const remove = () => here.alice.ok(here.alice.del(`${PATH}/${id}`));
  const { removed } = await reconcileSchedules(
    overtaken(async () => {}, remove),
    here.driver.schedules,
  );
  expect(removed).toContain(id);
  expect(await here.driver.schedules.nextRun(id)).toBeNull();
});

it('is gone from the engine when it is deleted; its runs stay', async () => {
  const { id } = await create();
  const { task_id } = await here.alice.ok(here.alice.post(`${PATH}/${id}/trigger`), 201);
  await here.ended(task_id);
  expect((await here.alice.del(`${PATH}/${id}`)).status).toBe(204);
  expect(await here.driver.schedules.nextRun(id)).toBeNull();
  expect((await here.alice.get(`${PATH}/${id}`)).status).toBe(404);
  expect((await here.alice.get(`/api/tasks/${task_id}`)).status).toBe(200);
});

it('refuses what makes no sense, naming the field', async () => {
  const workflow_id = await here.workflow();
  const body = { name: 'n', prompt: 'p', interval_value: 1, interval_unit: 'hours', start_at: later(), workflow_id };
  const fields = async (values: object) => {
    const { status, body: problem } = await here.alice.post(PATH, { ...body, ...values });
    return [status, problem.errors?.[0]?.path];
  };
  expect(await fields({ end_at: soon(-10_000) })).toEqual([422, 'end_at']);
  expect(await fields({ interval_value: 0 })).toEqual([422, 'interval_value']);
  expect(await fields({ interval_unit: 'seconds' })).toEqual([422, 'interval_unit']);
  expect(await fields({ start_at: 'tomorrow' })).toEqual([422, 'start_at']);
  expect(await fields({ workflow_id: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001' })).toEqual([422, 'workflow_id']);
  const { id } = await create();
  const patched = await here.alice.patch(`${PATH}/${id}`, { end_at: soon(-10_000) });
  expect(patched.body.errors[0].path).toBe('end_at');
});

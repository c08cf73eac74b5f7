import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isFiller, listNextDue, parseStoredCadence } from '../../src/domain/cadence.ts';
import { createFirePorts } from '../../src/main/wiring/runs/index.ts';
import { fireActivity } from '../../src/temporal/activities/fire.ts';
import { reconcileSchedules } from '../../src/temporal/repair/reconcile-schedules.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { fails, hangs, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { RECONCILE_SECONDS: '86400' } });
  here.model.always(says('done'));
});
afterAll(() => here?.stop());

const PATH = '/api/scheduled-agents';
const HOUR_MS = 3_600_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const at = (text: string) => Date.parse(text);

async function create(values: object, workflow_id?: string) {
  const body = { name: 'by cron', prompt: 'Report.', workflow_id: workflow_id ?? (await here.workflow()), ...values };
  return here.alice.ok(here.alice.post(PATH, body), 201);
}
const read = (id: string) => here.alice.ok(here.alice.get(`${PATH}/${id}`));
const patch = (id: string, values: object) => here.alice.ok(here.alice.patch(`${PATH}/${id}`, values));
const trigger = (id: string) => here.alice.post(`${PATH}/${id}/trigger`);
const runs = (id: string) => here.alice.ok(here.alice.get(`${PATH}/${id}/runs`)) as Promise<any[]>;
const rowOf = async (id: string) => (await here.core.store.scheduledAgents.find(id))!;
const described = (id: string) => here.driver.client.schedule.getHandle(`schedule-${id}`).describe();
const fire = (id: string, due_at: string) => fireActivity(createFirePorts(here.core, here.driver))(id, due_at);
const countAsked = (prompt: string) =>
  here.model.requests.filter(({ messages }) => messages.some(({ content }) => content === prompt)).length;
const compare = () => reconcileSchedules(here.core.store, here.driver.schedules);

describe('a schedule by cron', () => {
  it.for([
    ['30 7 * * MON-FRI', 'UTC', '2027-02-27T00:00:00Z'],
    ['0 6 1-7 * mon', 'UTC', '2027-01-01T00:00:00Z'],
    ['@monthly', 'Asia/Kolkata', '2027-01-01T00:00:00Z'],
    ['*/20 1-2 * * *', 'Europe/Berlin', '2027-03-27T12:00:00Z'],
    ['*/20 1-2 * * *', 'Europe/Berlin', '2027-10-30T12:00:00Z'],
    ['30 1 * * *', 'America/New_York', '2027-11-06T12:00:00Z'],
    ['15 0 * * sun', 'America/Havana', '2027-03-10T00:00:00Z'],
    ['45 1,2 * * *', 'Australia/Lord_Howe', '2027-10-01T00:00:00Z'],
  ] as const)(
    '%s in %s has every time from %s in Temporal, and no other but those that are skipped',
    async ([cron, time_zone, start_at]) => {
      const made = await create({ cron, time_zone, start_at });
      const row = await rowOf(made.id);
      expect(made).toMatchObject({ cron, time_zone, interval_value: null, interval_unit: null });
      const { info } = await described(made.id);
      const times = info.nextActionTimes.map((time) => time.getTime());
      const last = Math.max(...times);
      const due = listNextDue(parseStoredCadence(row), { after: at(start_at) - 1, until: last, count: 100 });
      expect(due.length).toBeGreaterThan(2);
      expect(times.filter((time) => !isFiller(parseStoredCadence(row), time))).toEqual(due);
      expect(made.next_run_at).toBe(new Date(due[0]!).toISOString());
      expect(await here.driver.schedules.matches(row)).toBe(true);
    },
  );

  it('runs when its zone’s clock shows the time, and not when Temporal asks at another offset', async () => {
    const { id } = await create({ cron: '30 7 * * *', time_zone: 'Europe/Berlin', start_at: '2999-01-01T00:00:00Z' });
    await fire(id, '2026-01-15T05:30:00.000Z');
    expect(await runs(id)).toEqual([]);
    await fire(id, '2026-01-15T06:30:00.000Z');
    const [started, ...more] = await runs(id);
    expect([started, more]).toMatchObject([{ outcome: 'started', due_at: '2026-01-15T06:30:00.000Z' }, []]);
    await here.ended(started.task_id);
  });

  it('becomes one at an interval, and the other way around', async () => {
    const { id } = await create({ cron: '0 9 * * *', time_zone: 'europe/berlin', jitter_seconds: 60 });
    expect(await read(id)).toMatchObject({
      cron: '0 9 * * *',
      time_zone: 'Europe/Berlin',
      interval_unit: null,
      jitter_seconds: 60,
    });
    expect((await described(id)).spec).toMatchObject({ jitter: 60_000, intervals: [] });
    const interval = { interval_value: 3, interval_unit: 'hours' };
    expect(await patch(id, interval)).toMatchObject({ ...interval, cron: null, time_zone: 'Europe/Berlin' });
    expect((await described(id)).spec).toMatchObject({ intervals: [{ every: 3 * HOUR_MS }], calendars: [] });
    expect(await patch(id, { interval_value: 4 })).toMatchObject({ interval_value: 4, interval_unit: 'hours' });
    const back = { interval_value: null, interval_unit: null, cron: '0 10 * * *' };
    expect(await patch(id, back)).toMatchObject({ ...back, time_zone: 'Europe/Berlin' });
    expect((await patch(id, { name: 'still by cron' })).cron).toBe('0 10 * * *');
  });

  it.for([
    [{}, 'interval_value', /^Send interval_value and interval_unit, or cron$/],
    [{ interval_value: 1 }, 'interval_unit', /^Required with interval_value$/],
    [{ interval_unit: 'hours' }, 'interval_value', /^Required with interval_unit$/],
    [{ cron: '@daily', interval_value: 1, interval_unit: 'hours' }, 'cron', /^Send either cron, or/],
    [{ cron: '0 0 0 * * *' }, 'cron', /^Write five fields/],
    [{ cron: '@daily', time_zone: 'Mars/Phobos' }, 'time_zone', /^Name a time zone/],
    [{ cron: '* * * * *', jitter_seconds: 60 }, 'jitter_seconds', /^Must be less than the 60 seconds between two runs$/],
    [{ cron: '@daily', jitter_seconds: 3_601 }, 'jitter_seconds', /3600/],
    [{ cron: '@daily', overlap_policy: 'allow_all' }, 'overlap_policy', /^A workflow runs one task at a time/],
    [{ cron: '@daily', pause_after_failures: 0 }, 'pause_after_failures', /1/],
  ] as const)('with %j is refused at %s', async ([values, path, message]) => {
    const workflow_id = await here.workflow();
    const { status, body } = await here.alice.post(PATH, { name: 'n', prompt: 'p', workflow_id, ...values });
    expect([status, body.errors?.length]).toEqual([422, 1]);
    expect(body.errors[0]).toEqual({ path, message: expect.stringMatching(message) });
  });

  it('lists when it is due, also before it is saved', async () => {
    const cadence = { cron: '30 7 * * *', time_zone: 'Europe/Berlin', start_at: '2027-03-27T00:00:00Z' };
    const due_times = ['2027-03-27T06:30:00.000Z', '2027-03-28T05:30:00.000Z', '2027-03-29T05:30:00.000Z'];
    expect(await here.alice.ok(here.alice.post(`${PATH}/preview`, { ...cadence, count: 3 }))).toEqual({ due_times });
    const { id } = await create(cadence);
    await here.alice.ok(here.alice.patch(`${PATH}/${id}/disable`));
    expect(await here.alice.ok(here.alice.get(`${PATH}/${id}/upcoming?count=3`))).toEqual({ due_times });
    const every = { interval_value: 1, interval_unit: 'days', end_at: '2027-01-02T00:00:00Z', start_at: '2027-01-01T00:00:00Z' };
    expect((await here.alice.ok(here.alice.post(`${PATH}/preview`, every))).due_times).toHaveLength(2);
    expect((await here.alice.post(`${PATH}/preview`, { cron: 'x' })).body.errors[0].path).toBe('cron');
  });
});

it('lets one run wait with enqueue_one, by Temporal’s name as well, and skips further ones', async () => {
  const prompt = 'Report for a year.';
  const { id, overlap_policy } = await create({ cron: '@yearly', overlap_policy: 'buffer_one', prompt });
  expect(overlap_policy).toBe('enqueue_one');
  here.model.scriptPrompt(prompt, hangs('thinking'));
  const [first, second] = [(await trigger(id)).body, (await trigger(id)).body];
  expect(await trigger(id)).toMatchObject({ status: 409, body: { detail: expect.stringContaining(second.task_id) } });
  await expect.poll(() => countAsked(prompt)).toBe(1);
  await here.alice.ok(here.alice.post(`/api/tasks/${first.task_id}/stop`));
  expect(await here.ended(second.task_id)).toMatchObject({ status: 'completed' });
});

describe('a back-fill', () => {
  const backfill = (id: string, body: object) => here.alice.post(`${PATH}/${id}/backfill`, body);
  /** It has been due, and is not any more: its runs take no answers that others wait for. */
  const over = () => ({ start_at: ago(9.5 * HOUR_MS), end_at: ago(0) });
  const statuses = async (fires: any[]) => Promise.all(fires.map(async ({ task_id }) => (await here.ended(task_id)).status));

  it('runs the due times of a range that have no run, once, in their order', async () => {
    const { id } = await create({ interval_value: 1, interval_unit: 'hours', ...over() });
    const start = at((await read(id)).start_at);
    const due = [1, 2, 3, 4].map((hour) => new Date(Math.floor((start + hour * HOUR_MS) / 1000) * 1000).toISOString());
    await fire(id, due[1]!);
    const before = (await runs(id)).find(({ due_at }) => due_at === due[1]);
    await here.core.store.scheduledAgents.claimFire(id, new Date(due[2]!));
    await here.core.store.scheduledAgents.settleFire(id, new Date(due[2]!), { outcome: 'missed', task_id: null, detail: 'down' });
    const range = { from: due[0], to: due[3] };
    const { fires } = await here.alice.ok(backfill(id, range), 201);
    expect(fires.map((one: any) => [one.due_at, one.outcome, one.detail])).toEqual([
      [due[0], 'backfilled', null],
      [due[1], 'started', null],
      [due[2], 'backfilled', null],
      [due[3], 'backfilled', null],
    ]);
    expect(fires[1].task_id).toBe(before.task_id);
    expect(await statuses(fires)).toEqual(['completed', 'completed', 'completed', 'completed']);
    const again = await here.alice.ok(backfill(id, range), 201);
    expect(again.fires.map((one: any) => one.task_id)).toEqual(fires.map((one: any) => one.task_id));
  });

  it('obeys the policy of the request, also if the schedule is disabled', async () => {
    const prompt = 'Report for hours.';
    const { id } = await create({ cron: '0 * * * *', prompt, ...over() });
    await here.alice.ok(here.alice.patch(`${PATH}/${id}/disable`));
    here.model.scriptPrompt(prompt, hangs('thinking'));
    const range = { from: ago(3 * HOUR_MS), to: ago(0), overlap_policy: 'skip' };
    const { fires } = await here.alice.ok(backfill(id, range), 201);
    expect(fires.map((one: any) => one.outcome)).toEqual(['backfilled', 'skipped', 'skipped']);
    await expect.poll(() => countAsked(prompt)).toBe(1);
    await here.alice.ok(here.alice.post(`/api/tasks/${fires[0].task_id}/stop`));
    expect(await statuses(fires.slice(0, 1))).toEqual(['halted']);
    expect(await read(id)).toMatchObject({ enabled: false, overlap_policy: 'skip' });
  });

  it('is refused for a range that is too long, backwards or not over', async () => {
    const { id } = await create({ cron: '* * * * *', ...over() });
    const refusal = async (from: string, to: string) => (await backfill(id, { from, to })).body.errors?.[0];
    expect(await refusal(ago(2 * HOUR_MS), ago(0))).toEqual({ path: 'to', message: expect.stringContaining('more than 100') });
    expect(await refusal(ago(0), ago(HOUR_MS))).toEqual({ path: 'to', message: 'Must not be before from' });
    expect(await refusal(ago(0), ago(-HOUR_MS))).toEqual({ path: 'to', message: 'Must not be in the future' });
    expect(await runs(id)).toEqual([]);
  });
});

describe('a schedule that pauses after failures', () => {
  /** Runs of the schedule that end like this, one after the other. */
  async function ran(id: string, ...answers: ReturnType<typeof says>[]) {
    for (const answer of answers) {
      here.model.script(answer);
      await here.ended((await here.alice.ok(trigger(id), 201)).task_id);
    }
  }
  const failed = fails(401);

  it('is disabled once that many runs in a row have failed, with the reason, and continues when it is enabled', async () => {
    const { id } = await create({ cron: '@yearly', pause_after_failures: 2 });
    const { id: patient } = await create({ cron: '@yearly' });
    await ran(id, failed, says('fine'), failed);
    await ran(patient, failed, failed);
    expect((await compare()).failing).toEqual([]);
    await ran(id, failed);
    expect((await compare()).failing).toEqual([id]);
    const reason = 'The last 2 runs failed; enable the schedule to continue';
    expect(await read(id)).toMatchObject({
      ...{ enabled: false, next_run_at: null, disabled_reason: reason },
      warnings: [{ path: 'enabled', message: reason }],
    });
    expect(await here.alice.ok(here.alice.patch(`${PATH}/${id}/enable`))).toMatchObject({ enabled: true, disabled_reason: null });
    await ran(id, failed);
    expect((await compare()).failing).toEqual([]);
    expect(await read(patient)).toMatchObject({ enabled: true, disabled_reason: null });
  });

  it('runs no more from then on, before anyone has compared', async () => {
    const { id } = await create({ cron: '* * * * *', start_at: '2999-01-01T00:00:00Z', pause_after_failures: 1 });
    await ran(id, failed);
    await fire(id, '2026-01-15T05:30:00.000Z');
    expect(await runs(id)).toHaveLength(1);
    expect(await read(id)).toMatchObject({
      enabled: false,
      disabled_reason: 'The last run failed; enable the schedule to continue',
    });
  });
});

import { describe, expect, it } from 'vitest';
import { BUDGET_SPENT } from '../../../src/domain/cap-states.ts';
import { AppError, conflict, overLimit, unprocessable } from '../../../src/domain/errors.ts';
import { fireActivity, serve } from '../../../src/temporal/activities/fire.ts';

const ROW = {
  ...{ id: 's', workflow_id: 'w', owner: 'github:7', owner_login: 'ann', prompt: 'Report.', enabled: true },
  ...{ overlap_policy: 'skip', interval_value: 1, interval_unit: 'hours', cron: null, time_zone: 'UTC' },
  ...{ start_at: new Date('2026-01-01T00:00:00Z'), end_at: null },
};
const DUE = '2026-03-01T05:00:00.000Z';

interface World {
  row?: Partial<typeof ROW>;
  /** The sealed token of the schedule, and whether its runs need one. */
  token?: string | null;
  uses_token?: boolean;
  refusal?: string;
  /** The unfinished runs of the schedule. */
  open?: string;
  waiting?: string;
  /** What the start of the run throws. */
  fails?: Error;
  settled?: boolean;
  known?: boolean;
  paused?: string[];
}

function worldOf({ row, token = null, uses_token = false, refusal, open, waiting, fails, settled, known, paused }: World = {}) {
  const done: unknown[] = [];
  const orders: object[] = [];
  const starters: object[] = [];
  const schedule = { ...ROW, ...row };
  const ports = {
    schedules: {
      find: async (id: string) => (id === 's' ? schedule : null),
      noteMissed: async () => void done.push('missed'),
      pauseFailing: async () => paused ?? [],
      claimFire: async () => ({ task_id: 'new', is_settled: settled ?? false }),
      settleFire: async (_: string, at: Date, outcome: object) => void done.push({ at: at.toISOString(), ...outcome }),
      noteWaiting: async (_: string, at: Date, detail: string) => void done.push({ waits: at.toISOString(), detail }),
      unsealToken: () => token,
      forgetToken: async () => void done.push('token forgotten'),
      openTask: async (_: string, except: string) => (except === 'new' ? (open ?? null) : 'wrong'),
      waitingTask: async (_: string, except: string) => (except === 'new' ? (waiting ?? null) : 'wrong'),
    },
    tasks: { find: async () => (known ? { id: 'new' } : null) },
    dispatch: {
      prompt: async (order: object) => {
        orders.push(order);
        if (fails) throw fails;
      },
    },
    workflows: { usesCallerToken: async () => uses_token },
    mayStart: async (starter: object, facts: object) => {
      starters.push({ ...starter, ...facts });
      return refusal ?? null;
    },
    forget: async (id: string) => void done.push(`${id} forgotten`),
  };
  return { ports: ports as never, schedule: schedule as never, done, orders: orders as any[], starters: starters as any[] };
}

async function fire(world: World = {}, id = 's', due_at = DUE) {
  const { ports, ...seen } = worldOf(world);
  const failure = await fireActivity(ports)(id, due_at).then(
    () => null,
    (error: Error) => error.message,
  );
  return { ...seen, failure, settled: seen.done.filter((one) => one !== 'missed') };
}

describe('a due time of a schedule', () => {
  it('starts a run for the owner of the schedule, which runs once', async () => {
    const { settled, orders } = await fire();
    expect(settled).toEqual([{ at: DUE, outcome: 'started', task_id: 'new' }]);
    expect(orders).toEqual([
      {
        ...{ workflow_id: 'w', owner: 'github:7', owner_login: 'ann', prompt: 'Report.', trigger: 'schedule' },
        ...{ scheduled_agent_id: 's', task_id: 'new', due_at: new Date(DUE), access_token: null },
      },
    ]);
    expect(await fire({ settled: true })).toMatchObject({ settled: [], orders: [] });
    // A worker that was lost after it had written the task did not write the outcome.
    expect(await fire({ known: true })).toMatchObject({ settled: [{ outcome: 'started', task_id: 'new' }], orders: [] });
  });

  it.each([
    ['skip', undefined],
    ['enqueue', 'enqueue'],
    ['enqueue_one', 'enqueue'],
    ['interrupt', 'interrupt'],
  ])('with the policy %s asks a workflow that is busy to %s', async (overlap_policy, on_busy) => {
    const { orders } = await fire({ row: { overlap_policy } });
    expect(orders.map((order) => order.on_busy)).toEqual([on_busy]);
  });

  it.each([
    ['skip', { open: 'before' }, 'The previous run before has not ended'],
    ['enqueue_one', { waiting: 'before' }, 'The run before waits already'],
    ['enqueue_one', { open: 'before' }, null],
    ['enqueue', { open: 'before', waiting: 'before' }, null],
    ['interrupt', { open: 'before', waiting: 'before' }, null],
  ])('with the policy %s and other runs %j is skipped: %s', async (overlap_policy, others, detail) => {
    const { settled, orders } = await fire({ row: { overlap_policy }, ...others });
    const skipped = { at: DUE, outcome: 'skipped', detail, task_id: null };
    expect(settled).toEqual([detail ? skipped : { at: DUE, outcome: 'started', task_id: 'new' }]);
    expect(orders).toHaveLength(detail ? 0 : 1);
  });

  it('that is refused is recorded as failed, with the reason', async () => {
    const { settled, orders, starters } = await fire({ refusal: 'You may not start runs', token: 'secret', uses_token: true });
    expect([settled, orders]).toEqual([[{ at: DUE, outcome: 'failed', detail: 'You may not start runs', task_id: null }], []]);
    expect(starters).toMatchObject([{ owner: 'github:7', access_token: 'secret', noun: 'schedule', uses_token: true }]);
  });

  it('hands on the token only if the runs need it, and forgets one that they do not need', async () => {
    const needed = await fire({ token: 'secret', uses_token: true });
    expect([needed.orders[0].access_token, needed.done]).toEqual(['secret', ['missed', expect.anything()]]);
    const needless = await fire({ token: 'secret' });
    expect([needless.orders[0].access_token, needless.done[1]]).toEqual([null, 'token forgotten']);
    expect((await fire()).done).not.toContain('token forgotten');
  });

  it.each([
    [conflict('busy'), { outcome: 'skipped', detail: 'busy' }],
    [overLimit('It is used up', { code: BUDGET_SPENT }), { outcome: 'skipped', detail: 'It is used up' }],
    [unprocessable([{ path: 'prompt', message: 'No.' }]), { outcome: 'failed', detail: 'prompt: No.' }],
    [new AppError('not_found', 'gone'), { outcome: 'failed', detail: 'gone' }],
    [new AppError('forbidden', 'foreign'), { outcome: 'failed', detail: 'foreign' }],
  ])('whose run cannot start is over: %s', async (fails, outcome) => {
    const { settled, failure } = await fire({ fails });
    expect([settled, failure]).toEqual([[{ at: DUE, ...outcome, task_id: null }], null]);
  });

  it.each([
    [overLimit('too many runs', { code: 'x' }), [{ waits: DUE, detail: 'too many runs' }]],
    [new AppError('unavailable', 'the engine is down'), [{ waits: DUE, detail: 'the engine is down' }]],
    [new TypeError('ours'), []],
  ])('whose run cannot start now is tried again, and shows why it waits: %s', async (fails, waits) => {
    const { settled, failure } = await fire({ fails });
    expect([settled, failure]).toEqual([waits, fails.message]);
  });

  it('of a schedule that is gone removes it from the engine', async () => {
    expect(await fire({}, 'another')).toMatchObject({ done: ['another forgotten'], orders: [] });
  });

  it('starts nothing if the schedule is disabled or has just been paused because its runs fail', async () => {
    expect(await fire({ row: { enabled: false } })).toMatchObject({ done: ['missed'], orders: [] });
    expect(await fire({ paused: ['s'] })).toMatchObject({ done: ['missed'], orders: [] });
  });

  it('that the engine only has because clocks change starts nothing', async () => {
    const row = { cron: '30 7 * * *', time_zone: 'Europe/Berlin' } as never;
    const started = async (due_at: string) => (await fire({ row }, 's', due_at)).orders.length;
    expect(await started('2026-01-15T06:30:00.000Z')).toBe(1);
    expect(await started('2026-01-15T05:30:00.000Z')).toBe(0);
    expect(await started('2026-07-15T05:30:00.000Z')).toBe(1);
    expect(await started('2026-07-15T06:30:00.000Z')).toBe(0);
  });
});

describe.each(['triggered', 'backfilled'] as const)('a run that a person asks for: %s', (outcome) => {
  it('is recorded as that', async () => {
    const { ports, schedule, done } = worldOf();
    await serve(ports, schedule, { due_at: new Date(DUE), outcome });
    expect(done).toEqual([{ at: DUE, outcome, task_id: 'new' }]);
  });

  it('is over if it cannot start now: nobody repeats the request', async () => {
    const { ports, schedule, done } = worldOf({ fails: overLimit('too many runs', { code: 'x' }) });
    const serving = serve(ports, schedule, { due_at: new Date(DUE), outcome });
    await expect(serving).rejects.toThrow('too many runs');
    expect(done).toEqual([{ at: DUE, outcome: 'failed', detail: 'too many runs', task_id: null }]);
  });
});

import {
  QueryNotRegisteredError,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createEngine } from '../../src/temporal/client/engine.ts';
import { createEvaluations } from '../../src/temporal/client/evaluations.ts';
import { createSchedules } from '../../src/temporal/client/schedules.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/names.ts';
import { keepPrepared, missingParts, prepareEngine, prepareNamespace } from '../../src/temporal/worker/housekeeping.ts';

const gone = new WorkflowNotFoundError('gone', 'run-a', undefined);
const odd = new Error('odd');
const grpc = (code: number) => Object.assign(new Error(`status ${code}`), { code, details: '', metadata: {} });
const NOT_FOUND = 5;

const LABELS = {
  ...{ owner: 'ann', principal: 'p', trigger: 'api', agent: 'x', workflow: 'flow', workflow_id: 'w', model: null },
};

/** A client of an engine whose every answer is the given one. */
function clientOf(answer: () => unknown) {
  const asked: any[] = [];
  const ask = async (...values: unknown[]) => {
    asked.push(values);
    return answer();
  };
  const handle = { describe: ask, cancel: ask, signal: ask, query: ask, terminate: ask, delete: ask, update: ask };
  const client = {
    withDeadline: (_: number, work: () => unknown) => work(),
    workflow: { getHandle: () => handle, start: ask },
    schedule: { getHandle: () => handle, create: ask },
  };
  return { client: client as never, asked };
}
const fails = (error: Error) => clientOf(() => Promise.reject(error));

const engineOf = ({ client }: { client: never }, role_queues = false) =>
  createEngine({ client, task_queue: 'q', role_queues, ui_url: null, public_url: () => null, eager: false });

describe('an execution that the engine does not have', () => {
  it.each<[string, (engine: ReturnType<typeof engineOf>) => Promise<unknown>, unknown]>([
    ['is unknown', (engine) => engine.execution('a'), { state: 'unknown', run_id: null, place: null }],
    ['takes no halt', (engine) => engine.halt('a'), false],
    ['takes no decision', (engine) => engine.decide('a', '1-1'), false],
    ['is not ended', (engine) => engine.terminate('a', 'why'), false],
  ])('%s, and any other failure is thrown', async (_, work, outcome) => {
    expect(await work(engineOf(fails(gone)))).toEqual(outcome);
    await expect(work(engineOf(fails(odd)))).rejects.toBe(odd);
  });

  it.each<[string, Error]>([
    ['a worker is older', new QueryNotRegisteredError('no such query', 3)],
    ['the run is over', gone],
    ['no worker answers', grpc(4)],
    ['no worker answers, says a cause', Object.assign(new Error('failed'), { cause: grpc(4) })],
  ])('does not say what it waits for: %s', async (_, error) => {
    expect(await engineOf(fails(error)).waits('a')).toBeNull();
  });

  it('fails to say what it waits for by an error of the program', async () => {
    await expect(engineOf(fails(odd)).waits('a')).rejects.toBe(odd);
  });
});

describe('a run', () => {
  const run = { task_id: 'a', queued: false, max_turns: 5 };

  it.each([true, false])('is started with the queues of the roles: %s', async (role_queues) => {
    const { client, asked } = clientOf(() => ({}));
    expect(await engineOf({ client }, role_queues).start(run, LABELS)).toBe(true);
    expect(asked[0][1].args).toEqual([{ ...run, ...(role_queues ? { role_queues } : {}) }]);
  });

  it('is started once', async () => {
    const again = new WorkflowExecutionAlreadyStartedError('again', 'run-a', 'agentRun');
    expect(await engineOf(fails(again)).start(run, LABELS)).toBe(false);
    await expect(engineOf(fails(odd)).start(run, LABELS)).rejects.toBe(odd);
  });
});

it('an evaluation that the engine does not have takes no halt, and any other failure is thrown', async () => {
  expect(await createEvaluations(fails(gone).client, 'q').halt('e')).toBe(false);
  await expect(createEvaluations(fails(odd).client, 'q').halt('e')).rejects.toBe(odd);
});

describe('a schedule of the engine', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());
  const SCHEDULE = {
    ...{ id: 's', owner: 'p', name: 'daily', enabled: true, catchup_window_seconds: 60, jitter_seconds: 0 },
    ...{ cron: null, interval_seconds: 60, timezone: 'UTC', start_at: new Date(0), end_at: null },
  } as never;
  const schedulesOf = ({ client }: { client: never }) => createSchedules({ client, task_queue: 'q', public_url: () => null });

  it('is not saved if the engine refuses it', async () => {
    const refusing = fails(odd);
    await expect(schedulesOf(refusing).save(SCHEDULE)).rejects.toBe(odd);
    expect(refusing.asked).toHaveLength(1);
  });

  it('is updated if there is one', async () => {
    let calls = 0;
    const { client, asked } = clientOf(() => {
      if (calls++ === 0) throw new ScheduleAlreadyRunning('there is one', 's');
    });
    await schedulesOf({ client }).save(SCHEDULE);
    expect(asked).toHaveLength(2);
  });

  it('is looked for until it is gone, for a second', async () => {
    const missing = new ScheduleNotFoundError('gone', 's');
    let calls = 0;
    await schedulesOf(clientOf(() => Promise.reject(missing))).remove('s');
    const later = schedulesOf(clientOf(() => (calls++ < 3 ? {} : Promise.reject(missing)))).remove('s');
    await vi.advanceTimersByTimeAsync(200);
    await later;
    const never = schedulesOf(clientOf(() => ({}))).remove('s');
    const failed = expect(never).rejects.toThrow('still has the schedule s');
    await vi.advanceTimersByTimeAsync(2_000);
    await failed;
    await expect(schedulesOf(fails(odd)).remove('s')).rejects.toBe(odd);
  });
});

describe('the parts of an engine', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  interface Parts {
    namespace?: Error;
    /** What a list of the attributes answers, one time after the other. */
    attributes?: (object | Error)[];
    schedule?: Error | object;
    create?: Error;
  }

  const ALL = Object.fromEntries(SEARCH_ATTRIBUTES.map((name) => [name, 2]));

  /** A client of an engine with these parts, and what it was asked to do. */
  function engineWith({ namespace, attributes = [], schedule = {}, create }: Parts) {
    const done: string[] = [];
    const act = (what: string, failure?: Error | object) => async () => {
      done.push(what);
      if (failure instanceof Error) throw failure;
      return failure ?? {};
    };
    const client = {
      options: { namespace: 'n' },
      withDeadline: (_: number, work: () => unknown) => work(),
      workflowService: {
        describeNamespace: async () => {
          if (namespace) throw namespace;
        },
        registerNamespace: act('registerNamespace'),
      },
      connection: {
        operatorService: {
          listSearchAttributes: async () => {
            const answer = attributes.shift() ?? ALL;
            if (answer instanceof Error) throw answer;
            return { customAttributes: answer };
          },
          addSearchAttributes: act('addSearchAttributes'),
        },
      },
      schedule: {
        create: act('create', create),
        getHandle: () => ({
          describe: act('describe', schedule),
          update: act('update'),
          trigger: act('trigger'),
        }),
      },
    };
    return { client: client as never, done };
  }
  const OPTIONS = { task_queue: 'q', every_seconds: 60, retention_days: 3 };

  it('that are missing are named', async () => {
    expect(await missingParts(engineWith({ namespace: grpc(NOT_FOUND) }).client, 'q')).toEqual(['the namespace n']);
    await expect(missingParts(engineWith({ namespace: grpc(7) }).client, 'q')).rejects.toThrow('status 7');
    const bare = await missingParts(
      engineWith({ attributes: [{}], schedule: new ScheduleNotFoundError('gone', 's') }).client,
      'q',
    );
    expect(bare).toContain('the search attribute PerduraStatus');
    expect(bare.at(-1)).toMatch(/^the schedule /);
    expect(await missingParts(engineWith({}).client, 'q')).toEqual([]);
  });

  it('are awaited while a new namespace is not known everywhere, and for half a minute', async () => {
    const soon = engineWith({ namespace: grpc(NOT_FOUND), attributes: [grpc(NOT_FOUND), {}] });
    const prepared = prepareNamespace({ client: soon.client, retention_days: 3 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await prepared)[0]).toBe('the namespace n');
    const never = engineWith({ attributes: Array(99).fill(grpc(NOT_FOUND)) });
    const failed = expect(prepareNamespace({ client: never.client, retention_days: 3 })).rejects.toThrow('status 5');
    await vi.advanceTimersByTimeAsync(31_000);
    await failed;
    await expect(prepareNamespace({ client: engineWith({ attributes: [odd] }).client, retention_days: 3 })).rejects.toBe(odd);
  });

  it.each<[string, Parts, string[] | Error]>([
    ['makes the schedule of the reconciler', {}, ['create', 'trigger']],
    ['keeps it if it has the same interval', same(60), ['create', 'describe', 'trigger']],
    ['changes its interval', same(30), ['create', 'describe', 'update', 'trigger']],
    ['fails if the engine refuses it', { create: odd }, odd],
  ])('a worker %s', async (_, parts, expected) => {
    const { client, done } = engineWith(parts);
    const preparing = prepareEngine({ client, ...OPTIONS });
    if (expected instanceof Error) return expect(preparing).rejects.toBe(expected);
    await preparing;
    expect(done).toEqual(expected);
  });

  it('are not made again by a worker that stops', async () => {
    const { client, done } = engineWith({ attributes: [{}, {}] });
    const log: string[] = [];
    const epoch = { beat: async () => null as never };
    await keepPrepared({ client, ...OPTIONS, log: (line) => log.push(line), epoch, look_ms: 60_000 }).stop();
    expect([done, log]).toEqual([['describe'], []]);
  });

  it.each<[string, Parts, () => Promise<never>, string[], string[]]>([
    ['lacks nothing', {}, async () => null as never, ['describe'], []],
    ['was restored', {}, async () => ({}) as never, ['describe', 'trigger'], []],
    ['is down', { namespace: grpc(14) }, async () => null as never, [], []],
    ['has a record that fails', {}, () => Promise.reject(odd), ['describe'], ['Looking for a restore failed: odd']],
    [
      'has lost its attributes',
      { attributes: [{}, {}] },
      async () => null as never,
      ['describe', 'addSearchAttributes', 'create', 'trigger'],
      [expect.stringContaining('has lost the search attribute') as never],
    ],
  ])('are looked for every ten seconds: an engine that %s', async (_, parts, beat, done, logged) => {
    vi.useRealTimers();
    const { client, done: made } = engineWith(parts);
    const log: string[] = [];
    const kept = keepPrepared({ client, ...OPTIONS, log: (line) => log.push(line), epoch: { beat }, look_ms: 5 });
    await expect.poll(() => made.length >= done.length && log.length >= logged.length).toBe(true);
    await kept.stop();
    expect(made.slice(0, done.length)).toEqual(done);
    expect(log.slice(0, logged.length)).toEqual(logged);
  });
});

function same(seconds: number) {
  return {
    create: new ScheduleAlreadyRunning('there is one', 's'),
    schedule: { spec: { intervals: [{ every: seconds * 1_000 }] } },
  };
}

import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { ActivityFailure, TimeoutFailure } from '@temporalio/common';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { OutageError } from '../../src/domain/outages.ts';
import { haltRegistry, isHalt, retryWhileDown, runAttempt, withHeartbeats } from '../../src/temporal/activities/attempt.ts';
import { retryIfWorkerLost } from '../../src/temporal/workflows/lost-workers.ts';
import { failureOf, inActivity } from '../support/runs/in-activity.ts';

const HALTS = { watch: () => ({ signal: new AbortController().signal, end() {} }) };
afterEach(() => vi.useRealTimers());

/** The engine repeats an attempt after any error but this. */
const isLast = (error: Error) => error instanceof ApplicationFailure && error.nonRetryable === true;

const down = { code: 'database_unavailable', sentence: 'The database is down' } as const;
const ofAttempt = (attempt: number, error: Error) =>
  failureOf(inActivity({ attempt }, () => runAttempt(HALTS, 't', () => Promise.reject(error))));

describe('an attempt that fails', () => {
  it.each([
    [1, false],
    [2, false],
    [3, false],
    [4, false],
    [5, true],
    [6, true],
  ])('with an unexpected error, as number %i, is the last one: %s', async (attempt, last) => {
    const failure = await ofAttempt(attempt, new TypeError('nobody expects this'));
    expect(isLast(failure)).toBe(last);
    expect(failure.message).toBe('nobody expects this');
    if (last) expect(failure).toMatchObject({ type: 'internal', cause: expect.any(TypeError) });
  });

  it.each([1, 4, 5, 6, 1_000])('because a peer is down is repeated, as number %i', async (attempt) => {
    expect(isLast(await ofAttempt(attempt, new OutageError(down)))).toBe(false);
  });

  it.each([1, 5])('with a failure that says itself whether it is final is left alone, as number %i', async (attempt) => {
    const final = ApplicationFailure.nonRetryable('no', 'refused');
    expect(await ofAttempt(attempt, final)).toBe(final);
    const passing = ApplicationFailure.retryable('later', 'busy');
    expect(isLast(await ofAttempt(attempt, passing))).toBe(false);
  });
});

/** Begins an attempt whose work lasts until `end`; lists its heartbeats. */
function begin({ details, signal }: { details?: string; signal?: AbortSignal } = {}) {
  const beats: unknown[][] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const known: { last: string | null }[] = [];
  const heartbeat = (...sent: unknown[]) => void beats.push(sent);
  const ended = inActivity({ details, heartbeat, ...(signal ? { signal } : {}) }, () =>
    runAttempt(HALTS, 't', (_, noted) => {
      known.push(noted);
      return promise;
    }),
  );
  return { beats, known, ended, end: resolve, fail: reject };
}

describe('an attempt reports to the engine', () => {
  it('often enough that the engine, which waits for 8 s, notices a lost worker and no late heartbeat', async () => {
    vi.useFakeTimers();
    const { beats, ended, end } = begin();
    await vi.advanceTimersByTimeAsync(7_000);
    expect(beats).toEqual([[], [], []]);
    end();
    await ended;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(beats).toHaveLength(3);
  });

  it('what an earlier attempt has noted, until it notes something itself', async () => {
    vi.useFakeTimers();
    const { beats, known, ended, end } = begin({ details: 'begun before' });
    await vi.advanceTimersByTimeAsync(2_500);
    expect([known[0]?.last, beats]).toEqual(['begun before', [['begun before']]]);
    known[0]!.last = 'begun again';
    await vi.advanceTimersByTimeAsync(2_000);
    end();
    await ended;
    expect(beats).toEqual([['begun before'], ['begun again']]);
  });

  it('what it has noted before it fails, and nothing if it has noted nothing', async () => {
    const noting = begin();
    noting.known[0]!.last = 'begun';
    noting.fail(new Error('lost'));
    await failureOf(noting.ended);
    const silent = begin();
    silent.fail(new Error('lost'));
    await failureOf(silent.ended);
    expect([noting.beats, silent.beats]).toEqual([[['begun']], []]);
  });

  it('while it evaluates, too', async () => {
    vi.useFakeTimers();
    const beats: unknown[] = [];
    const { promise, resolve } = Promise.withResolvers<string>();
    const ended = inActivity({ heartbeat: (...sent) => void beats.push(sent) }, () => withHeartbeats(() => promise));
    await vi.advanceTimersByTimeAsync(7_000);
    resolve('done');
    expect(await ended).toBe('done');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(beats).toHaveLength(3);
  });
});

describe('an attempt that is stopped', () => {
  const stopped = (reason: Error) => {
    const stop = new AbortController();
    const { ended, fail } = begin({ signal: stop.signal });
    stop.abort(reason);
    fail(new Error('a consequence of the stop'));
    return failureOf(ended);
  };

  it('because its worker ends is made again by another worker', async () => {
    const failure = await stopped(new CancelledFailure('WORKER_SHUTDOWN'));
    expect(failure).toMatchObject({ type: 'WorkerShutdown', nonRetryable: false });
    expect(isHalt(failure)).toBe(false);
  });

  it('by a halt reports the halt', async () => {
    const halted = new CancelledFailure('CANCELLED');
    expect(await stopped(halted)).toBe(halted);
    expect([halted, new CancelledFailure('WORKER_SHUTDOWN'), new Error('CANCELLED')].map(isHalt)).toEqual([true, false, false]);
  });
});

it('a halt stops everything that watches its task, nothing of another task, and nothing that has ended', () => {
  const halts = haltRegistry();
  const [first, second, ended, other] = [halts.watch('t1'), halts.watch('t1'), halts.watch('t1'), halts.watch('t11')];
  ended.end();
  halts.halt('t1');
  halts.halt('t2');
  expect([first, second, ended, other].map(({ signal }) => signal.aborted)).toEqual([true, true, false, false]);
  expect([first, second].map(({ signal }) => isHalt(signal.reason))).toEqual([true, true]);
  expect(first.signal.reason).toMatchObject({ nonRetryable: true });
  first.end();
  second.end();
  const later = halts.watch('t1');
  expect(later.signal.aborted).toBe(false);
  halts.halt('t1');
  expect(later.signal.aborted).toBe(true);
});

describe('a write during an outage', () => {
  it('is tried again until it succeeds', async () => {
    let times = 0;
    const write = async () => {
      times += 1;
      if (times < 3) throw new OutageError(down);
      return 'written';
    };
    expect(await retryWhileDown(write, new AbortController().signal)).toBe('written');
    expect(times).toBe(3);
  });

  it('is given up when the attempt is stopped, also in a pause', async () => {
    const stop = new AbortController();
    let times = 0;
    const fail = () => {
      times += 1;
      // By then the first pause has begun.
      if (times === 1) setImmediate(() => stop.abort());
      // Without this, an attempt that does not give up would hang.
      return Promise.reject(times < 9 ? new OutageError(down) : new Error('still trying'));
    };
    expect(await failureOf(retryWhileDown(fail, stop.signal))).toMatchObject({ code: 'database_unavailable' });
    expect(times).toBe(2);
  });

  it('is not repeated after any other failure', async () => {
    let times = 0;
    const fail = () => {
      times += 1;
      return Promise.reject(new TypeError('ours'));
    };
    expect(await failureOf(retryWhileDown(fail, new AbortController().signal))).toBeInstanceOf(TypeError);
    expect(times).toBe(1);
  });
});

it.each([
  ['HEARTBEAT', true],
  ['START_TO_CLOSE', true],
  ['SCHEDULE_TO_START', false],
  ['SCHEDULE_TO_CLOSE', false],
] as const)('work whose limit %s has passed is repeated, as its worker was lost: %s', async (type, is_repeated) => {
  const lost = new ActivityFailure('', 'exchange', '1', 'TIMEOUT', undefined, new TimeoutFailure('', undefined, type));
  const failed = retryIfWorkerLost('step 1', () => Promise.reject(lost));
  // The pause before the repetition needs the clock of a workflow.
  if (is_repeated) await expect(failed).rejects.toThrow('Workflow Execution');
  else await expect(failed).rejects.toBe(lost);
});

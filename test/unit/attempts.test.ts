import { ApplicationFailure, asyncLocalStorage, Context } from '@temporalio/activity';
import { ActivityFailure, TimeoutFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { OutageError } from '../../src/domain/outages.ts';
import { runAttempt } from '../../src/temporal/activities/attempt.ts';
import { retryIfWorkerLost } from '../../src/temporal/workflows/lost-workers.ts';

const HALTS = { watch: () => ({ signal: new AbortController().signal, end() {} }) };

/** The error of an attempt whose work fails. */
async function failureOf(attempt: number, error: Error): Promise<Error> {
  const context = { info: { attempt }, cancellationSignal: new AbortController().signal, heartbeat() {} };
  const failing = asyncLocalStorage.run(Object.assign(Object.create(Context.prototype), context), () =>
    runAttempt(HALTS, 't', () => Promise.reject(error)),
  );
  return failing.then(
    () => new Error('it did not fail'),
    (thrown: Error) => thrown,
  );
}

/** The engine repeats an attempt after any error but this. */
const isLast = (error: Error) => error instanceof ApplicationFailure && error.nonRetryable === true;

const down = { code: 'database_unavailable', sentence: 'The database is down' } as const;

describe('an attempt that fails', () => {
  it.each([
    [1, false],
    [2, false],
    [3, false],
    [4, false],
    [5, true],
    [6, true],
  ])('with an unexpected error, as number %i, is the last one: %s', async (attempt, last) => {
    const failure = await failureOf(attempt, new TypeError('nobody expects this'));
    expect(isLast(failure)).toBe(last);
    expect(failure.message).toBe('nobody expects this');
    if (last) expect(failure).toMatchObject({ type: 'internal', cause: expect.any(TypeError) });
  });

  it.each([1, 4, 5, 6, 1_000])('because a peer is down is repeated, as number %i', async (attempt) => {
    expect(isLast(await failureOf(attempt, new OutageError(down)))).toBe(false);
  });

  it.each([1, 5])('with a failure that says itself whether it is final is left alone, as number %i', async (attempt) => {
    const final = ApplicationFailure.nonRetryable('no', 'refused');
    expect(await failureOf(attempt, final)).toBe(final);
    const passing = ApplicationFailure.retryable('later', 'busy');
    expect(isLast(await failureOf(attempt, passing))).toBe(false);
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

import type { ApplicationFailure } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { requireAdmission } from '../../../src/temporal/activities/admission.ts';
import { retryDelay } from '../../../src/temporal/activities/retries.ts';
import { inActivity } from '../../support/runs/in-activity.ts';

/** Asks for a place within a provider's rate; returns the events, and the failure if there was none. */
async function admit(wait_ms: number, attempt: number) {
  const events: unknown[] = [];
  const asked: unknown[] = [];
  const ports = {
    runs: {
      publish: async (_: unknown, published: { data: unknown }[]) => void events.push(...published.map(({ data }) => data)),
    },
    admit: async (provider: unknown) => {
      asked.push(provider);
      return wait_ms;
    },
    now: () => 'now',
  };
  const provider = { id: 'p' };
  const admitting = inActivity({ attempt }, () =>
    requireAdmission(ports as never, { task_id: 't' } as never, { provider: provider as never, step: 3 }),
  );
  const outcome = await admitting.then(
    () => 'admitted',
    (error: ApplicationFailure) => error,
  );
  expect(asked).toEqual([provider]);
  return { outcome, events };
}

describe('a step whose provider has a rate', () => {
  it('begins at once if there is room', async () => {
    expect(await admit(0, 1)).toEqual({ outcome: 'admitted', events: [] });
  });

  it.each([
    [1, 1],
    [2, 0],
    [9, 0],
  ])('waits in the engine for as long as it has to; attempt %i logs the wait %i times', async (attempt, times) => {
    const { outcome, events } = await admit(4_217, attempt);
    expect(outcome).toMatchObject({
      type: 'rate_limited',
      nextRetryDelay: 4_217,
      nonRetryable: false,
      category: ApplicationFailureCategory.BENIGN,
    });
    const message = "The provider's requests_per_minute are used up; trying again in 4.2 s";
    expect((outcome as ApplicationFailure).message).toBe(message);
    expect(events).toEqual(Array(times).fill({ event: 'rate_limited', detail: message, step: 3, wait_ms: 4_217 }));
  });
});

describe('a failure that may pass', () => {
  it.each([
    [0, false, 500],
    [1, false, 2_000],
    [2, true, 8_000],
    [3, true, 32_000],
  ])('after %i failures ends the run: %s, and is waited for longer each time: %i ms', (errors, final, delay_ms) => {
    expect(retryDelay({ recoverable: true }, { errors })).toEqual({ final, delay_ms });
    expect(retryDelay({ recoverable: false }, { errors })).toEqual({ final: true, delay_ms });
  });

  it.each([
    [1_301, 1_301],
    [60_000, 60_000],
    [60_001, 60_000],
    [3_600_000, 60_000],
    [0, 2_000],
    [-1_301, 2_000],
  ])('with a wish for a pause of %i ms waits for %i ms', (retry_after_ms, delay_ms) => {
    expect(retryDelay({ recoverable: true, retry_after_ms }, { errors: 1, most_ms: 60_000 }).delay_ms).toBe(delay_ms);
  });
});

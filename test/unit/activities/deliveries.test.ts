import { describe, expect, it } from 'vitest';
import { deliverActivity, giveUpDeliveryActivity } from '../../../src/temporal/activities/deliver.ts';
import { failureOf, inActivity } from '../../support/runs/in-activity.ts';

/** Makes one attempt to deliver a message that has this status; returns its failure and what was sent and noted. */
async function deliver(status: string | undefined, attempt: object = {}) {
  const sent: string[] = [];
  const notes: unknown[] = [];
  const ports = {
    webhooks: {
      open: async (id: string) => (status ? { id, status } : undefined),
      note: async (id: string, note: object) => void notes.push([id, note]),
      giveUp: async (id: string) => void notes.push([id, 'given up']),
    },
    sendMessage: async ({ id }: { id: string }) => {
      sent.push(id);
      return { delivered: true, response_status: 204, error: null, retry: false, ...attempt };
    },
  };
  const failure = await failureOf(inActivity({}, () => deliverActivity(ports as never)('d')));
  return { failure, sent, notes, ports };
}

describe('an attempt to deliver a message', () => {
  it('that succeeds is the last one', async () => {
    const { failure, sent, notes } = await deliver('pending');
    expect([failure.message, sent]).toEqual(['it did not fail', ['d']]);
    expect(notes).toEqual([['d', { delivered: true, response_status: 204, error: null }]]);
  });

  it.each([
    [{ response_status: 503, error: 'HTTP 503', retry: true }, false],
    [{ response_status: 410, error: 'HTTP 410', retry: false }, true],
    [{ response_status: null, error: 'not allowed', retry: false }, true],
  ])('that fails is noted, and is the last one only if the sender decides so: %j, %s', async (attempt, nonRetryable) => {
    const { failure, notes } = await deliver('pending', { delivered: false, ...attempt });
    expect(failure).toMatchObject({ type: 'undelivered', message: attempt.error, nonRetryable });
    const { response_status, error } = attempt;
    expect(notes).toEqual([['d', { delivered: false, response_status, error }]]);
  });

  it.each(['delivered', 'failed', undefined])('of a message that is %s is not made', async (status) => {
    expect(await deliver(status)).toMatchObject({ sent: [], notes: [] });
  });

  it('that was the last is noted as that', async () => {
    const { ports, notes } = await deliver('delivered');
    await giveUpDeliveryActivity(ports as never)('d');
    expect(notes).toEqual([['d', 'given up']]);
  });
});

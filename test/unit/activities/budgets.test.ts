import { describe, expect, it } from 'vitest';
import { createCaps } from '../../../src/temporal/activities/caps.ts';
import { reserveCaps } from '../../../src/temporal/activities/reserve-caps.ts';
import { loadOthers, requirePrices } from '../../../src/temporal/activities/unpriced.ts';
import { failureOf } from '../../support/runs/in-activity.ts';

const OTHER = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be007';
const THIRD = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be011';
const CAP = { budget_id: 'b', name: 'Team', unit: 'tokens', limit: 100, spent: 83, ends_at: '2026-03-01T05:00:00.000Z' };
const RUN = { task_id: 't', turns: 3, attempts: 1, has_caps: true, budget: null };
const DEFINITION = { model: 'small', provider: null, budget: null };

describe('a call within budgets above the run', () => {
  /** Reserves a call. `taken`: whether the attempt still owns its step. */
  async function reserveCall(answer: object, taken: boolean) {
    const released: unknown[] = [];
    const events: { data: { event: string } }[] = [];
    const write = async (_: unknown, written: { events: typeof events }) => {
      events.push(...written.events);
      return taken;
    };
    const caps = createCaps({
      caps: {
        release: async (id: string) => void released.push(id),
        prolong: async () => {},
        raiseWaiting: async () => [],
      } as never,
      raise: async () => {},
    });
    const ports = { runs: { wait: write, publishDeltas: write }, caps, reserveForStep: async () => answer, now: () => 'now' };
    const work = { ports, run: RUN, definition: DEFINITION, selected: { prices: {} }, tokens: 11, step: 5 };
    const reservation = await reserveCaps(work as never).catch((error: Error) => error);
    return { reservation, released, events: events.map(({ data }) => data.event) };
  }
  const blocked = { ...CAP, reason: 'busy', reserved: 17, least: 11 };
  const STALE = { type: 'stale_attempt' };

  it('warns once a share of one is spent', async () => {
    const { reservation, released, events } = await reserveCall({ warnings: [{ ...CAP, share: 0.8 }] }, true);
    expect([reservation, released, events]).toEqual([expect.any(String), [], ['budget_warning']]);
  });

  it('waits for room', async () => {
    expect((await reserveCall({ blocked }, true)).events).toEqual(['budget_exhausted', undefined]);
  });

  it('is left to the attempt that owns the step now, and reserves nothing', async () => {
    expect(await reserveCall({ blocked }, false)).toMatchObject({ reservation: STALE, released: [] });
    const warned = await reserveCall({ warnings: [{ ...CAP, share: 0.8 }] }, false);
    expect(warned).toMatchObject({ reservation: STALE, released: [expect.any(String)] });
    expect(await reserveCall('stale' as never, true)).toMatchObject({ reservation: STALE, events: [] });
  });
});

describe('a run with a limit in dollars over a model without a price', () => {
  const limit = (on_exhausted: string) => ({ max_cost_usd: 29, max_tokens: null, max_seconds: null, on_exhausted });
  const ask = (on_exhausted: string, { taken = true, model = null as string | null } = {}) => {
    const events: { data: object }[] = [];
    const ports = {
      runs: {
        wait: async (_: unknown, written: { events: typeof events }) => {
          events.push(...written.events);
          return taken;
        },
      },
      findPresentProvider: async () => null,
      now: () => 'now',
    };
    const asking = { ports, run: { ...RUN, budget: limit(on_exhausted) }, definition: { ...DEFINITION, model }, step: 5 };
    return { asked: requirePrices(asking as never, { prices: {} }, ['Hello.']), events };
  };

  it('waits, or is halted', async () => {
    const { asked, events } = ask('wait');
    expect(await asked).toBe('waiting');
    expect(events[0]).toMatchObject({ data: { event: 'unpriced_model', model: null, provider: null, on_exhausted: 'wait' } });
    const halted = ask('halt', { model: 'small' });
    expect(await failureOf(halted.asked)).toMatchObject({
      nonRetryable: true,
      message: expect.stringContaining('the model small'),
    });
    expect(halted.events).toMatchObject([{ data: { model: 'small' } }]);
  });

  it('is left to the attempt that owns the step now', async () => {
    expect(await failureOf(ask('wait', { taken: false }).asked)).toMatchObject({ type: 'stale_attempt' });
  });

  it('finds the other providers that answered it, without those that were deleted', async () => {
    const run = { ...RUN, budget: limit('wait'), unpriced_models: [`${OTHER} large`, `${THIRD} huge`] };
    const findPresentProvider = async (id: string) => (id === OTHER ? { name: 'Office', prices: {} } : null);
    const load = (has_limit: boolean) =>
      loadOthers({
        ports: { findPresentProvider },
        run: has_limit ? run : { ...run, budget: null },
        definition: DEFINITION,
      } as never);
    expect(await load(true)).toEqual(new Map([[OTHER, { name: 'Office', prices: {} }]]));
    expect(await load(false)).toEqual(new Map());
  });
});

import { expect, it } from 'vitest';
import { type Cadence, findNextDue, type Interval, listDueTimes, toEngineInterval } from '../../src/domain/cadence.ts';

const at = (text: string) => Date.parse(text);
const every = (
  interval_value: number,
  interval_unit: Interval['interval_unit'],
  start: string,
  end?: string,
): Cadence & Interval => ({
  ...{ interval_value, interval_unit, start_at: at(start), end_at: end ? at(end) : null },
});

it('is due at its start, then at each interval after it, in every unit', () => {
  for (const [unit, second] of [
    ['minutes', '2026-03-01T10:02:00Z'],
    ['hours', '2026-03-01T12:00:00Z'],
    ['days', '2026-03-03T10:00:00Z'],
    ['weeks', '2026-03-15T10:00:00Z'],
  ] as const) {
    const cadence = every(2, unit, '2026-03-01T10:00:00.700Z');
    const first = findNextDue(cadence, at('2026-02-28T00:00:00Z'));
    expect(first).toBe(at('2026-03-01T10:00:00Z'));
    expect(findNextDue(cadence, first!)).toBe(at(second));
    expect(findNextDue(cadence, at(second) - 1)).toBe(at(second));
  }
});

it('ends with end_at, which is still one of its times', () => {
  const cadence = every(1, 'hours', '2026-03-01T10:00:00Z', '2026-03-01T12:00:00Z');
  expect(findNextDue(cadence, at('2026-03-01T11:30:00Z'))).toBe(at('2026-03-01T12:00:00Z'));
  expect(findNextDue(cadence, at('2026-03-01T12:00:00Z'))).toBeNull();
});

it('lists what was due in a span, the latest where there are too many', () => {
  const cadence = every(1, 'minutes', '2026-03-01T10:00:00Z');
  const span = { after: at('2026-03-01T10:00:00Z'), until: at('2026-03-01T10:03:00Z') };
  expect(listDueTimes(cadence, { ...span, limit: 10 })).toEqual(['01', '02', '03'].map((m) => at(`2026-03-01T10:${m}:00Z`)));
  expect(listDueTimes(cadence, { ...span, limit: 2 })).toEqual(['02', '03'].map((m) => at(`2026-03-01T10:${m}:00Z`)));
});

it('gives the engine a phase whose times include the start', () => {
  const cadence = every(3, 'days', '2026-03-01T10:00:30Z');
  const { every: length, offset } = toEngineInterval(cadence);
  expect((cadence.start_at - offset) % length).toBe(0);
});

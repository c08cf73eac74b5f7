import { describe, expect, it } from 'vitest';
import type { RunSpan } from '../../src/contracts/run-inspection.ts';
import { findFill, sumFills } from '../../src/dashboard/runs/span-fill.ts';
import { computeBar } from '../../src/dashboard/runs/span-scale.ts';
import {
  computeMarks,
  fitInto,
  initialZoom,
  moveAxis,
  toAxis,
  withMargin,
  zoomAxis,
} from '../../src/dashboard/runs/span-zoom.ts';

const START = Date.UTC(2026, 0, 31, 12);
const at = (seconds: number) => new Date(START + seconds * 1_000).toISOString();
const axis = (from: number, to: number) => ({ from: START + from * 1_000, to: START + to * 1_000 });
const WHOLE = axis(0, 100);
const span = (
  id: string,
  kind: RunSpan['kind'],
  [start, end]: [number, number | null],
  more: Partial<RunSpan> = {},
): RunSpan => ({
  ...{ id, kind, parent: null, step: 1, name: kind, status: 'completed', attempts: 1, detail: null, copied: false, usage: null },
  ...{ start: at(start), end: end === null ? null : at(end) },
  ...more,
});

describe('the zoom of the steps of a run', () => {
  it('begins with the rows in sight if there are more than 40', () => {
    expect([39, 40, 41].map(initialZoom)).toEqual(['whole', 'whole', 'rows']);
  });

  it('halves and doubles the axis around a time, and stays within the run', () => {
    expect(zoomAxis(WHOLE, 0.5, START + 20_000, WHOLE)).toEqual(axis(10, 60));
    expect(zoomAxis(axis(10, 60), 2, START + 20_000, WHOLE)).toEqual(WHOLE);
    expect(zoomAxis(axis(60, 90), 2, START + 90_000, WHOLE)).toEqual(axis(30, 90));
    expect(zoomAxis(axis(80, 100), 2, START + 80_000, WHOLE)).toEqual(axis(60, 100));
  });

  it('never shows less than five milliseconds, nor more than the run', () => {
    expect(fitInto({ from: START, to: START + 2 }, WHOLE)).toEqual({ from: START, to: START + 5 });
    expect(fitInto(axis(-7, 131), WHOLE)).toEqual(WHOLE);
  });

  it('moves by a part of what it shows, up to both ends', () => {
    expect(moveAxis(axis(20, 60), 0.25, WHOLE)).toEqual(axis(30, 70));
    expect(moveAxis(axis(20, 60), -0.25, WHOLE)).toEqual(axis(10, 50));
    expect(moveAxis(axis(70, 98), 0.25, WHOLE)).toEqual(axis(72, 100));
    expect(moveAxis(axis(3, 31), -0.25, WHOLE)).toEqual(axis(0, 28));
  });

  it('leaves a margin around what is chosen', () => {
    expect(withMargin(axis(20, 70), WHOLE)).toEqual(axis(18, 72));
  });

  it('shows the whole run, a part of it, or what the rows in sight need, if one of them has begun', () => {
    const [done, planned] = [span('3', 'model', [20, 70]), span('5', 'tool', [0, null], { start: null })];
    const now = START + 97_000;
    const shown = (zoom: Parameters<typeof toAxis>[0], in_sight: RunSpan[]) => toAxis(zoom, { whole: WHOLE, in_sight, now });
    expect([shown('whole', [done]), shown(axis(90, 131), [done])]).toEqual([WHOLE, axis(59, 100)]);
    expect([shown('rows', [planned, done]), shown('rows', [planned])]).toEqual([axis(18, 72), WHOLE]);
  });

  it('has no bar for what lies outside, and a part of one for what reaches in', () => {
    const part = axis(20, 40);
    expect(computeBar(span('1', 'model', [3, 19]), part, 0)).toBeNull();
    expect(computeBar(span('1', 'model', [41, 43]), part, 0)).toBeNull();
    expect(computeBar(span('1', 'model', [10, 25]), part, 0)).toEqual({ left: 0, width: 25 });
    expect(computeBar(span('1', 'model', [35, null]), part, START + 70_000)).toEqual({ left: 75, width: 25 });
  });
});

describe('the marks of the axis', () => {
  const labels = (from: number, to: number) => computeMarks(axis(from, to), START).map(({ label }) => label);

  it('are at round times since the start of the run, and no two read the same', () => {
    expect(labels(0, 2.3)).toEqual(['0', '500 ms', '1 s', '1.5 s', '2 s']);
    expect(labels(0, 105)).toEqual(['0', '30 s', '1 min', '1 min 30 s']);
    expect(labels(61, 64)).toEqual([
      '1 min 1 s',
      '1 min 1.5 s',
      '1 min 2 s',
      '1 min 2.5 s',
      '1 min 3 s',
      '1 min 3.5 s',
      '1 min 4 s',
    ]);
    const DAY = 86_400;
    expect(labels(0, 168 * DAY)).toEqual(['0', '672 h', '1344 h', '2016 h', '2688 h', '3360 h', '4032 h']);
    // A run of more than 24 weeks has a mark at each sixth of it.
    expect(labels(0, 210 * DAY)).toEqual(['0', '840 h', '1680 h', '2520 h', '3360 h', '4200 h', '5040 h']);
    expect(labels(1.04, 1.11)).toEqual(['1.04 s', '1.06 s', '1.08 s', '1.1 s']);
    expect(labels(3_600, 9_000)).toEqual(['1 h', '1 h 15 min', '1 h 30 min', '1 h 45 min', '2 h', '2 h 15 min', '2 h 30 min']);
  });

  it('stand where their time is', () => {
    expect(computeMarks(axis(10, 60), START).map(({ left }) => left)).toEqual([0, 20, 40, 60, 80, 100]);
  });
});

describe('the pattern of a bar', () => {
  it.each<[string, Partial<RunSpan>, string]>([
    ['a model call', { kind: 'model', name: 'large' }, 'model'],
    ['a tool call', { kind: 'tool', name: 'budget' }, 'tool'],
    ['a retry', { kind: 'retry', name: 'model_error' }, 'retry'],
    ['a rate limit', { kind: 'retry', name: 'rate_limited' }, 'limit'],
    ['an approval', { kind: 'wait', name: 'approval' }, 'decision'],
    ['a budget', { kind: 'wait', name: 'budget' }, 'budget'],
    ['a price', { kind: 'wait', name: 'a price' }, 'budget'],
  ])('shows that it is %s', (_, one, fill) => {
    expect(findFill(one as RunSpan)).toBe(fill);
  });

  it('is counted with its time, and a wait is not the time of the call that it held up', () => {
    const spans = [
      span('1', 'model', [0, 13]),
      span('1.7', 'retry', [2, 7], { parent: '1', name: 'rate_limited' }),
      span('1-1', 'tool', [13, 90], { parent: '1' }),
      span('1-1.9', 'wait', [13, 84], { parent: '1-1', name: 'approval' }),
      span('1-2', 'tool', [13, 16], { parent: '1' }),
      span('2', 'model', [-90, -80], { copied: true }),
    ];
    expect(sumFills(spans, START)).toEqual([
      { fill: 'model', count: 1, ms: 8_000 },
      { fill: 'tool', count: 2, ms: 9_000 },
      { fill: 'limit', count: 1, ms: 5_000 },
      { fill: 'decision', count: 1, ms: 71_000 },
    ]);
  });
});

import type { RunSpan } from '../../contracts/run-inspection.ts';
import { type Axis, computeAxis, findTimes } from './span-scale.ts';

/** What the axis shows: the whole run, the rows in sight, or a part that was chosen. */
export type Zoom = 'whole' | 'rows' | Axis;

/** Longer runs begin with the rows in sight, because on the axis of the whole run their bars are too short to compare. */
const MOST_ROWS_WHOLE = 40;

export const initialZoom = (rows: number): Zoom => (rows > MOST_ROWS_WHOLE ? 'rows' : 'whole');

const SHORTEST_MS = 5;
const MARGIN = 0.04;

/** Keeps an axis within the whole run and at least a few milliseconds long. */
export function fitInto({ from, to }: Axis, whole: Axis): Axis {
  const length = Math.min(Math.max(to - from, SHORTEST_MS), whole.to - whole.from);
  const start = Math.min(Math.max(from, whole.from), whole.to - length);
  return { from: start, to: start + length };
}

/** Makes an axis longer or shorter around a time on it. */
export function zoomAxis({ from, to }: Axis, factor: number, around: number, whole: Axis): Axis {
  return fitInto({ from: around - (around - from) * factor, to: around + (to - around) * factor }, whole);
}

/** Moves an axis by a part of its length. */
export function moveAxis({ from, to }: Axis, part: number, whole: Axis): Axis {
  const by = (to - from) * part;
  return fitInto({ from: from + by, to: to + by }, whole);
}

/** Adds some space on both sides. */
export function withMargin({ from, to }: Axis, whole: Axis): Axis {
  const margin = Math.max(to - from, SHORTEST_MS) * MARGIN;
  return fitInto({ from: from - margin, to: to + margin }, whole);
}

interface Sight {
  whole: Axis;
  /** The rows in sight. */
  in_sight: readonly RunSpan[];
  /** The browser's time, up to which open spans reach. */
  now: number;
}

/** Returns the axis of a zoom: rows in sight of which none has begun are shown on that of the whole run. */
export function toAxis(zoom: Zoom, { whole, in_sight, now }: Sight): Axis {
  if (zoom === 'whole') return whole;
  if (zoom !== 'rows') return fitInto(zoom, whole);
  return in_sight.some((span) => findTimes(span, now)) ? withMargin(computeAxis(in_sight, now), whole) : whole;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 14, 28].map((count) => count * DAY),
];
const MOST_MARKS = 6;

export interface ScaleMark {
  /** The place on the axis, in percent. */
  left: number;
  label: string;
}

/** Returns marks at round times since the start of the run. */
export function computeMarks({ from, to }: Axis, start: number): ScaleMark[] {
  const length = to - from;
  const step = STEPS.find((one) => length / one <= MOST_MARKS) ?? length / MOST_MARKS;
  const marks: ScaleMark[] = [];
  for (let at = start + Math.ceil((from - start) / step) * step; at <= to; at += step)
    marks.push({ left: ((at - from) / length) * 100, label: formatMark(at - start) });
  return marks;
}

const TRIM = 1_000;
const trim = (value: number) => Math.round(value * TRIM) / TRIM;

/** Formats `0`, `50 ms`, `1.05 s`, `2 min`, `1 h 2 min 3.5 s`: exactly, so that no two marks read the same. */
function formatMark(ms: number): string {
  if (ms === 0) return '0';
  if (ms < SECOND) return `${trim(ms)} ms`;
  const parts: [number, string][] = [
    [Math.floor(ms / HOUR), 'h'],
    [Math.floor((ms % HOUR) / MINUTE), 'min'],
    [trim((ms % MINUTE) / SECOND), 's'],
  ];
  return parts.flatMap(([value, unit]) => (value === 0 ? [] : [`${value} ${unit}`])).join(' ');
}

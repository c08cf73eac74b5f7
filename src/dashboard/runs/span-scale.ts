import type { RunSpan } from '../../contracts/run-inspection.ts';

/** The time axis of a run, in milliseconds since 1970. */
export interface Axis {
  from: number;
  to: number;
}

/** From the first start to the last end. What is copied from another run has its times, so it is left out. */
export function computeAxis(spans: readonly RunSpan[], now: number): Axis {
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const span of spans) {
    const times = findTimes(span, now);
    if (times === null) continue;
    from = Math.min(from, times.from);
    to = Math.max(to, times.to);
  }
  return from <= to ? { from, to: Math.max(to, from + 1) } : { from: now, to: now + 1 };
}

/** Where the bar of a span is, in percent of the axis; null if it has none there. */
export function computeBar(span: RunSpan, { from, to }: Axis, now: number): { left: number; width: number } | null {
  const times = findTimes(span, now);
  if (times === null || times.from > to || times.to < from) return null;
  const percent = (at: number) => Math.min(100, Math.max(0, ((at - from) / (to - from)) * 100));
  const left = percent(times.from);
  return { left, width: percent(times.to) - left };
}

/** Returns the time that a span took in this run; null if it was not started, or was copied. */
export const findTimes = ({ start, end, copied }: RunSpan, now: number): Axis | null =>
  start === null || copied ? null : { from: Date.parse(start), to: end === null ? now : Date.parse(end) };

export const getDurationMs = ({ start, end }: RunSpan, now: number): number | null =>
  start === null ? null : Math.max(0, (end === null ? now : Date.parse(end)) - Date.parse(start));

/** How deep each span is nested, by id. */
export function computeDepths(spans: readonly RunSpan[]): Map<string, number> {
  const depths = new Map<string, number>();
  for (const { id, parent } of spans) depths.set(id, parent === null ? 0 : (depths.get(parent) ?? 0) + 1);
  return depths;
}

const WORDS: Record<RunSpan['kind'], (span: RunSpan) => string> = {
  model: ({ step, name }) => `Step ${step}, ${name}`,
  tool: ({ name }) => name,
  retry: ({ name }) => `Retry after ${name}`,
  wait: ({ name }) => `Waiting for ${name}`,
};

export const formatTitle = (span: RunSpan) => WORDS[span.kind](span);

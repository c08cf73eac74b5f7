import type { RunSpan } from '../../contracts/run-inspection.ts';
import { findTimes } from './span-scale.ts';

/** What a bar stands for. Each has its own pattern. */
export const FILLS = {
  model: 'Model',
  tool: 'Tool',
  retry: 'Wait before a retry',
  limit: 'Rate limit',
  decision: 'Waiting for a decision',
  budget: 'Waiting for a budget',
} as const;
export type Fill = keyof typeof FILLS;

const BUDGETS = ['budget', 'a price'];

export function findFill({ kind, name }: Pick<RunSpan, 'kind' | 'name'>): Fill {
  if (kind === 'retry') return name === 'rate_limited' ? 'limit' : 'retry';
  if (kind === 'wait') return BUDGETS.includes(name) ? 'budget' : 'decision';
  return kind;
}

export interface FillSum {
  fill: Fill;
  count: number;
  ms: number;
}

/** Returns how often each kind of bar occurs, and how long they are together; a wait does not count for what it held up. */
export function sumFills(spans: readonly RunSpan[], now: number): FillSum[] {
  const sums = new Map<Fill, FillSum>();
  const fills = new Map(spans.map((span) => [span.id, findFill(span)]));
  const add = (fill: Fill, count: number, ms: number) => {
    const sum = sums.get(fill) ?? { fill, count: 0, ms: 0 };
    sums.set(fill, { fill, count: sum.count + count, ms: sum.ms + ms });
  };
  for (const span of spans) {
    const times = findTimes(span, now);
    if (times === null) continue;
    const ms = times.to - times.from;
    add(fills.get(span.id)!, 1, ms);
    const held_up = span.parent === null ? undefined : fills.get(span.parent);
    if (held_up && (span.kind === 'wait' || span.kind === 'retry')) add(held_up, 0, -ms);
  }
  return (Object.keys(FILLS) as Fill[]).flatMap((fill) => {
    const sum = sums.get(fill);
    return sum ? [{ ...sum, ms: Math.max(0, sum.ms) }] : [];
  });
}

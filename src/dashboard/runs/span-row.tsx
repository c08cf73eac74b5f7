import { Bot, Coins, Gauge, Hourglass, type LucideIcon, RotateCw, Wrench } from 'lucide-react';
import type { RunSpan } from '../../contracts/run-inspection.ts';
import { formatCost, formatDuration, formatNumber } from '../ui/figures.ts';
import { type Fill, findFill } from './span-fill.ts';
import { type Axis, computeBar, formatTitle, getDurationMs } from './span-scale.ts';

const ICONS: Record<Fill, LucideIcon> = {
  model: Bot,
  tool: Wrench,
  retry: RotateCw,
  limit: Gauge,
  decision: Hourglass,
  budget: Coins,
};

interface RowProps {
  span: RunSpan;
  place: { index: number; top: number; of: number; depth: number };
  axis: Axis;
  now: number;
  selected: boolean;
  select(id: string): void;
}

/** One row of the waterfall. Every state but the usual one is a word, so that nobody has to distinguish colours. */
export function SpanRow({ span, place: { index, top, of, depth }, axis, now, selected, select }: RowProps) {
  const { kind, attempts, usage } = span;
  const fill = findFill(span);
  const Icon = ICONS[fill];
  const bar = computeBar(span, axis, now);
  const state = kind === 'retry' ? 'retried' : span.status;
  const is_usual = kind === 'retry' || state === 'completed' || (kind === 'wait' && state === 'waiting');
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the focus and handles the keys
    // biome-ignore lint/a11y/useFocusableInteractive: as above, with aria-activedescendant
    <div
      id={`span-${index}`}
      role="option"
      aria-selected={selected}
      aria-posinset={index + 1}
      aria-setsize={of}
      className="step-row"
      data-kind={kind}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => select(span.id)}
    >
      <span className="step-name" style={{ paddingLeft: `${depth * 0.9}rem` }}>
        <Icon size={13} aria-hidden className="step-icon" data-fill={fill} />
        <span className="step-title" title={formatTitle(span)}>
          {formatTitle(span)}
        </span>
        <span className={is_usual ? 'visually-hidden' : 'step-state'} data-state={state}>
          {state}
        </span>
        {attempts > 1 && <span className="step-attempts">{attempts} attempts</span>}
      </span>
      <span className="step-track">
        {bar && (
          <span
            className="step-bar"
            data-fill={fill}
            data-state={span.status}
            style={{ left: `${bar.left}%`, width: `${bar.width}%` }}
          />
        )}
      </span>
      <span className="step-figure step-wide">{usage && formatNumber(usage.total_in)}</span>
      <span className="step-figure step-wide">{usage && formatNumber(usage.total_out)}</span>
      <span className="step-figure step-wide">{usage && (usage.priced ? formatCost(usage) : '—')}</span>
      <span className="step-figure">{span.copied ? 'copied' : formatDuration(getDurationMs(span, now))}</span>
    </div>
  );
}

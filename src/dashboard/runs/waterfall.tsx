import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useEffect, useRef } from 'react';
import type { RunSpan } from '../../contracts/run-inspection.ts';
import { formatDuration } from '../ui/figures.ts';
import { Status } from '../ui/show.tsx';
import { type Axis, computeAxis, computeBar, computeDepths, formatTitle, getDurationMs } from './span-scale.ts';

const ROW_PX = 22;
const PAGE_ROWS = 10;
const MARKS = [0, 0.5, 1];

interface WaterfallProps {
  spans: RunSpan[];
  /** The browser's time, up to which open spans reach. */
  now: number;
  selected: string | null;
  select(id: string): void;
}

/** One row for each thing that took time, all on one axis. Only the rows in sight are in the page. */
export function Waterfall({ spans, now, selected, select }: WaterfallProps) {
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: spans.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const axis = computeAxis(spans, now);
  const depths = computeDepths(spans);
  const at = spans.findIndex(({ id }) => id === selected);
  // biome-ignore lint/correctness/useExhaustiveDependencies: further spans do not move the reader
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at);
  }, [selected, at < 0]);
  const onKeyDown = (event: KeyboardEvent) => {
    const next = rowAfter(event.key, at, spans.length);
    if (next === null) return;
    event.preventDefault();
    select(spans[next]!.id);
  };
  const visible_rows = rows.getVirtualItems();
  const active = visible_rows.some(({ index }) => index === at) ? `span-${at}` : undefined;
  return (
    <div className="waterfall">
      <Marks axis={axis} />
      <div
        ref={box}
        className="waterfall-rows"
        role="listbox"
        tabIndex={0}
        aria-label="Steps of the run"
        aria-activedescendant={active}
        onKeyDown={onKeyDown}
      >
        <div role="presentation" style={{ height: rows.getTotalSize(), position: 'relative' }}>
          {visible_rows.map(({ index, start }) => (
            <Row
              key={index}
              span={spans[index]!}
              place={{ index, top: start, of: spans.length, depth: depths.get(spans[index]!.id)! }}
              axis={axis}
              now={now}
              selected={index === at}
              select={select}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

/** The row that a key leads to; null if it leads nowhere. */
function rowAfter(key: string, at: number, count: number): number | null {
  const moves: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + PAGE_ROWS,
    PageUp: at - PAGE_ROWS,
    Home: 0,
    End: count - 1,
  };
  const to = moves[key];
  return to === undefined ? null : Math.min(count - 1, Math.max(0, to));
}

function Marks({ axis: { from, to } }: { axis: Axis }) {
  return (
    <div className="span-row waterfall-marks" aria-hidden="true">
      <span />
      <span className="span-track">
        {MARKS.map((part) => (
          <span key={part} className="waterfall-mark" data-part={part} style={{ left: `${part * 100}%` }}>
            {part === 0 ? '0' : formatDuration((to - from) * part)}
          </span>
        ))}
      </span>
      <span />
    </div>
  );
}

interface RowProps {
  span: RunSpan;
  place: { index: number; top: number; of: number; depth: number };
  axis: Axis;
  now: number;
  selected: boolean;
  select(id: string): void;
}

function Row({ span, place: { index, top, of, depth }, axis, now, selected, select }: RowProps) {
  const bar = computeBar(span, axis, now);
  const took = getDurationMs(span, now);
  const status = span.kind === 'retry' ? 'retried' : span.status;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the focus and handles the keys
    // biome-ignore lint/a11y/useFocusableInteractive: as above, with aria-activedescendant
    <div
      id={`span-${index}`}
      role="option"
      aria-selected={selected}
      aria-posinset={index + 1}
      aria-setsize={of}
      className="span-row"
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => select(span.id)}
    >
      <span className="span-name" style={{ paddingLeft: `${depth}rem` }}>
        <Status of={span.status} {...(span.kind === 'retry' && { tone: 'wait' })}>
          <span>
            {formatTitle(span)}
            <span className="visually-hidden">{status}</span>
          </span>
        </Status>
      </span>
      <span className="span-track">
        {bar && (
          <span
            className="span-bar"
            data-kind={span.kind}
            data-status={span.status}
            style={{ left: `${bar.left}%`, width: `${bar.width}%` }}
          />
        )}
      </span>
      <span className="span-took">{span.copied ? 'copied' : formatDuration(took)}</span>
    </div>
  );
}

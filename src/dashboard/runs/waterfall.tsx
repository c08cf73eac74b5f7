import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import type { RunSpan } from '../../contracts/run-inspection.ts';
import { sumFills } from './span-fill.ts';
import { SpanOverview } from './span-overview.tsx';
import { SpanRow } from './span-row.tsx';
import { type Axis, computeAxis, computeDepths, findTimes } from './span-scale.ts';
import { SpanTools } from './span-tools.tsx';
import {
  computeMarks,
  fitInto,
  initialZoom,
  moveAxis,
  type ScaleMark,
  toAxis,
  withMargin,
  type Zoom,
  zoomAxis,
} from './span-zoom.ts';

const ROW_PX = 24;
const PAGE_ROWS = 10;
const ZOOM_STEP = 2;
const MOVE_STEP = 0.25;

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
  const depths = useMemo(() => computeDepths(spans), [spans]);
  const sums = useMemo(() => sumFills(spans, now), [spans, now]);
  const whole = useMemo(() => computeAxis(spans, now), [spans, now]);
  const in_sight = rows.range ? spans.slice(rows.range.startIndex, rows.range.endIndex + 1) : spans;
  const at = spans.findIndex(({ id }) => id === selected);
  const zoom = useZoom({ whole, in_sight, chosen: spans[at], now, rows: spans.length });
  // biome-ignore lint/correctness/useExhaustiveDependencies: further spans do not move the reader
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at);
  }, [selected, at < 0]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = rowAfter(event.key, at, spans.length);
    if (next === null && !zoom.onKey(event.key)) return;
    event.preventDefault();
    if (next !== null) select(spans[next]!.id);
  };
  const visible_rows = rows.getVirtualItems();
  const active = visible_rows.some(({ index }) => index === at) ? `span-${at}` : undefined;
  const marks = computeMarks(zoom.axis, whole.from);
  return (
    <div className="step-chart">
      <SpanTools sums={sums} zoom={zoom.zoom} selected={zoom.can_select} set={zoom.set} />
      <SpanOverview spans={spans} whole={whole} axis={zoom.axis} now={now} choose={(axis) => zoom.set(axis ?? 'whole')} />
      <Header marks={marks} />
      <div
        ref={box}
        className="step-rows"
        role="listbox"
        tabIndex={0}
        aria-label="Steps of the run"
        aria-activedescendant={active}
        style={{ '--grid': drawGrid(marks) } as CSSProperties}
        onKeyDown={onKeyDown}
      >
        <div role="presentation" style={{ height: rows.getTotalSize(), position: 'relative' }}>
          {visible_rows.map(({ index, start }) => (
            <SpanRow
              key={index}
              span={spans[index]!}
              place={{ index, top: start, of: spans.length, depth: depths.get(spans[index]!.id)! }}
              axis={zoom.axis}
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

interface Zooming {
  whole: Axis;
  in_sight: RunSpan[];
  chosen: RunSpan | undefined;
  now: number;
  rows: number;
}

type Command = Axis | 'whole' | 'rows' | 'selected' | 'in' | 'out' | 'left' | 'right';

const KEYS: Record<string, Command> = {
  '+': 'in',
  '=': 'in',
  '-': 'out',
  '0': 'whole',
  r: 'rows',
  s: 'selected',
  ArrowLeft: 'left',
  ArrowRight: 'right',
};

/** The part of the run that the axis shows, and the ways to change it. */
function useZoom({ whole, in_sight, chosen, now, rows }: Zooming) {
  const [zoom, setZoom] = useState<Zoom>(() => initialZoom(rows));
  const times = chosen ? findTimes(chosen, now) : null;
  const axis = toAxis(zoom, { whole, in_sight, now });
  const middle =
    times && times.from <= axis.to && times.to >= axis.from ? (times.from + times.to) / 2 : (axis.from + axis.to) / 2;
  const set = (command: Command) => {
    if (command === 'whole' || command === 'rows') return setZoom(command);
    if (command === 'in') return setZoom(zoomAxis(axis, 1 / ZOOM_STEP, middle, whole));
    if (command === 'out') return setZoom(zoomAxis(axis, ZOOM_STEP, middle, whole));
    if (command === 'left') return setZoom(moveAxis(axis, -MOVE_STEP, whole));
    if (command === 'right') return setZoom(moveAxis(axis, MOVE_STEP, whole));
    if (command !== 'selected') return setZoom(fitInto(command, whole));
    if (times) setZoom(withMargin(times, whole));
  };
  const onKey = (key: string) => {
    const command = KEYS[key];
    if (command) set(command);
    return command !== undefined;
  };
  return { zoom, axis, set, onKey, can_select: times !== null };
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

function Header({ marks }: { marks: ScaleMark[] }) {
  return (
    <div className="step-row step-header" aria-hidden="true">
      <span />
      <span className="step-track">
        {marks.map(({ left, label }) => (
          <span
            key={left}
            className="step-mark"
            data-edge={left < 3 ? 'first' : left > 92 ? 'last' : 'none'}
            style={{ left: `${left}%` }}
          >
            {label}
          </span>
        ))}
      </span>
      <span className="step-figure step-wide">Tokens in</span>
      <span className="step-figure step-wide">out</span>
      <span className="step-figure step-wide">Cost</span>
      <span className="step-figure">Time</span>
    </div>
  );
}

/** A line below each mark, as the background of every row. */
const drawGrid = (marks: ScaleMark[]) =>
  marks
    .map(({ left }) => `linear-gradient(var(--grid-line), var(--grid-line)) ${left.toFixed(2)}% 0 / 1px 100% no-repeat`)
    .join(', ');

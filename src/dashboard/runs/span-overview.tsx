import { type PointerEvent, useRef, useState } from 'react';
import type { RunSpan } from '../../contracts/run-inspection.ts';
import { type Fill, findFill } from './span-fill.ts';
import { type Axis, computeBar } from './span-scale.ts';

const WIDTH = 1_000;
const HEIGHT = 24;
const SHORTEST_DRAG = 0.005;

interface OverviewProps {
  spans: readonly RunSpan[];
  whole: Axis;
  axis: Axis;
  now: number;
  /** Called with the part of the run that was dragged over; null: a click, for the whole run. */
  choose(axis: Axis | null): void;
}

/** The whole run in one strip, and which part the axis shows. Drag over a part to see it; the buttons and keys do the same. */
export function SpanOverview({ spans, whole, axis, now, choose }: OverviewProps) {
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<{ begin: number; end: number } | null>(null);
  const length = whole.to - whole.from;
  const partAt = ({ clientX }: PointerEvent) => {
    const { left, width } = box.current!.getBoundingClientRect();
    return Math.min(1, Math.max(0, (clientX - left) / width));
  };
  const finish = () => {
    if (!drag) return;
    setDrag(null);
    const [from, to] = [Math.min(drag.begin, drag.end), Math.max(drag.begin, drag.end)];
    choose(to - from < SHORTEST_DRAG ? null : { from: whole.from + from * length, to: whole.from + to * length });
  };
  const shown = drag
    ? { left: Math.min(drag.begin, drag.end), right: 1 - Math.max(drag.begin, drag.end) }
    : { left: (axis.from - whole.from) / length, right: (whole.to - axis.to) / length };
  return (
    <div
      ref={box}
      className="step-overview"
      aria-hidden="true"
      title="Drag over a part of the run to see it larger; click for the whole run"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        const at = partAt(event);
        setDrag({ begin: at, end: at });
      }}
      onPointerMove={(event) => drag && setDrag({ ...drag, end: partAt(event) })}
      onPointerUp={finish}
      onPointerCancel={() => setDrag(null)}
    >
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {drawPaths(spans, whole, now).map(([fill, path]) => (
          <path key={fill} d={path} data-fill={fill} />
        ))}
      </svg>
      <span className="step-window" style={{ left: `${shown.left * 100}%`, right: `${shown.right * 100}%` }} />
    </div>
  );
}

/** Model calls are in the upper half and everything else in the lower one. One path for each kind, so that a thousand rows cost little. */
function drawPaths(spans: readonly RunSpan[], whole: Axis, now: number): [Fill, string][] {
  const paths = new Map<Fill, string>();
  for (const span of spans) {
    const bar = computeBar(span, whole, now);
    if (bar === null) continue;
    const fill = findFill(span);
    const [x, width] = [(bar.left / 100) * WIDTH, Math.max(1, (bar.width / 100) * WIDTH)];
    const top = fill === 'model' ? 3 : HEIGHT / 2 + 1;
    paths.set(fill, `${paths.get(fill) ?? ''}M${x.toFixed(1)} ${top}h${width.toFixed(1)}v8h-${width.toFixed(1)}z`);
  }
  // What waits is drawn last, over the call that it holds up.
  return [...paths].sort(([one], [other]) => ORDER.indexOf(one) - ORDER.indexOf(other));
}

const ORDER: Fill[] = ['model', 'tool', 'retry', 'limit', 'decision', 'budget'];

import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { type UsageRow, usage } from '../../contracts/usage.ts';
import type { ApiReply } from '../api/call.ts';
import { useRead } from '../api/queries.ts';
import { formatCount, formatNumber } from '../ui/figures.ts';
import { formatHour } from '../ui/time.tsx';

const EVERY_MS = 30_000;
const HOUR_MS = 3_600_000;
const HOURS = 24;

/** The ends of a run, from the bottom of a bar to its top. */
const ENDS = [
  ['completed', 'good'],
  ['halted', 'stopped'],
  ['failed', 'bad'],
] as const;

/** Returns the last hours, the present one among them; they are whole, so that polling keeps the same query. */
function lastHours() {
  const end = (Math.floor(Date.now() / HOUR_MS) + 1) * HOUR_MS;
  return { from: new Date(end - HOURS * HOUR_MS).toISOString(), to: new Date(end).toISOString() };
}

/** How many runs ended in each of the last hours, and how. */
export function RunsOverTime() {
  const { data } = useRead(usage.get, { query: { ...lastHours(), interval: 'hour' } }, { every_ms: EVERY_MS });
  return data && data.rows.length > 0 ? <Chart report={data} /> : null;
}

function Chart({ report: { from, rows } }: { report: ApiReply<typeof usage.get> }) {
  const sum = (field: 'runs' | (typeof ENDS)[number][0]) => rows.reduce((total, row) => total + row[field], 0);
  const most = Math.max(...rows.map(({ runs }) => runs));
  const hours = Array.from({ length: HOURS }, (_, at) => new Date(Date.parse(from) + at * HOUR_MS).toISOString());
  const rowOf = (hour: string) => rows.find(({ at }) => at !== null && Date.parse(at) === Date.parse(hour));
  const total = `${formatCount(sum('runs'), 'run')} ended in the last ${HOURS} hours`;
  const ends = ENDS.map(([end, tone]) => [end, tone, sum(end)] as const).filter(([, , runs]) => runs > 0);
  return (
    <div className="panel over-time">
      <div className="over-time-head">
        <strong>{total}</strong>
        {ends.map(([end, tone, runs]) => (
          <Anchor key={end} component={Link} to={`/tasks?status=${end}&hours=24`} c="inherit" className="legend" data-tone={tone}>
            {`${formatNumber(runs)} ${end}`}
          </Anchor>
        ))}
      </div>
      <div
        className="bars"
        role="img"
        aria-label={`Chart by hour: ${total}, ${ends.map(([end, , n]) => `${n} ${end}`).join(', ')}`}
      >
        {hours.map((hour) => (
          <Bar key={hour} hour={hour} row={rowOf(hour)} most={most} />
        ))}
      </div>
      <div className="bars-axis" aria-hidden>
        {[0, 6, 12, 18, HOURS - 1].map((at) => (
          <span key={at}>{formatHour(hours[at]!)}</span>
        ))}
      </div>
    </div>
  );
}

function Bar({ hour, row, most }: { hour: string; row: UsageRow | undefined; most: number }) {
  const parts = ENDS.filter(([end]) => row && row[end] > 0);
  const words = parts.map(([end]) => `${formatNumber(row![end])} ${end}`).join(', ') || 'no run ended';
  return (
    <span className="bar" title={`${formatHour(hour)}: ${words}`}>
      {parts.map(([end, tone]) => (
        <span key={end} data-tone={tone} style={{ height: `${(row![end] / most) * 100}%` }} />
      ))}
    </span>
  );
}

import { Anchor, SimpleGrid, Text } from '@mantine/core';
import { Link } from 'react-router';
import { tasks } from '../../contracts/tasks.ts';
import { usage } from '../../contracts/usage.ts';
import { useRead } from '../api/queries.ts';
import { formatCost, formatCount, formatDistance, formatDuration, formatShare } from '../ui/figures.ts';

/** The day moves on although nothing happens. */
const EVERY_MS = 5 * 60_000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
const NOTHING = { cost: 0, total_in: 0, total_out: 0 };

/** Returns the periods, rounded to the minute, so that reading again keeps the same query. */
function periods() {
  const end = (Math.floor(Date.now() / MINUTE_MS) + 1) * MINUTE_MS;
  const to = new Date(end).toISOString();
  return {
    day: { from: new Date(end - DAY_MS).toISOString(), to },
    today: { from: new Date(new Date().setHours(0, 0, 0, 0)).toISOString(), to },
  };
}

/** Shows what may need attention. Each figure links to the screen that explains it. */
export function Today() {
  const { day, today } = periods();
  const [ended] = useRead(usage.get, { query: day }, { every_ms: EVERY_MS }).data?.rows ?? [];
  const [totals = NOTHING] = useRead(usage.get, { query: today }, { every_ms: EVERY_MS }).data?.rows ?? [];
  const tools = useRead(usage.tools, { query: { ...day, most: 200 } }, { every_ms: EVERY_MS }).data?.rows ?? [];
  const [slowest] = tools.toSorted((one, other) => other.p95_ms - one.p95_ms);
  const oldest = useRead(tasks.list, { query: { status: 'waiting', sort: 'oldest', limit: 1, count_to: 1 } });
  const waiting = oldest.data?.items[0];
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="xs" role="group" aria-label="Today">
      <Figure
        label="Failed, last 24 hours"
        to="/tasks?status=failed&hours=24&group=error"
        value={ended ? formatShare(ended.failed, ended.runs) : '—'}
        detail={ended ? `of ${formatCount(ended.runs, 'run')}` : 'no run has ended'}
      />
      <Figure
        label="Waiting longest"
        to={waiting ? `/tasks/${waiting.id}` : '/tasks?status=waiting'}
        value={waiting ? (waiting.workflow_title ?? waiting.agent_name) : '—'}
        detail={waiting ? `started ${formatDistance(waiting.started_at ?? waiting.created_at)}` : 'no run is waiting'}
      />
      <Figure
        label="Spent today"
        to="/usage?days=1"
        value={formatCost(totals)}
        detail={`${formatCount(totals.total_in + totals.total_out, 'token')}${totals.cost === null ? ', no prices set' : ''}`}
      />
      <Figure
        label="Slowest tool, last 24 hours"
        to="/usage?days=1"
        value={slowest?.name ?? '—'}
        detail={slowest ? `95 % within ${formatDuration(slowest.p95_ms)}` : 'no tool was called'}
      />
    </SimpleGrid>
  );
}

interface FigureProps {
  label: string;
  to: string;
  value: string;
  detail: string;
}

const Figure = ({ label, to, value, detail }: FigureProps) => (
  <Anchor component={Link} to={to} c="inherit" underline="never" className="panel">
    <Text size="sm">{label}</Text>
    <Text fz="1.1rem" fw={600} lh={1.3} truncate title={value}>
      {value}
    </Text>
    <Text size="sm" c="dimmed">
      {detail}
    </Text>
  </Anchor>
);

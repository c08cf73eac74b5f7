import type { ScheduledAgent } from '../../client/index.ts';
import { listCommand } from '../remote/list.ts';
import { formatTime } from '../remote/table.ts';

const formatRecurrence = ({ cron, time_zone, interval_value, interval_unit }: ScheduledAgent) =>
  cron ? `${cron} (${time_zone})` : `every ${interval_value} ${interval_unit}`;

export default listCommand<ScheduledAgent>('schedules', {
  route: 'GET /api/scheduled-agents',
  titles: ['ID', 'NAME', 'WHEN', 'NEXT RUN', 'LAST RUN'],
  row: (schedule) => [
    schedule.id,
    schedule.name,
    formatRecurrence(schedule),
    schedule.enabled ? formatTime(schedule.next_run_at) : 'disabled',
    formatTime(schedule.last_run_at),
  ],
});

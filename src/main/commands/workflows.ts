import type { WorkflowSummary } from '../../client/index.ts';
import { listCommand } from '../remote/list.ts';
import { formatTime } from '../remote/table.ts';

export default listCommand<WorkflowSummary>('workflows', {
  route: 'GET /api/workflows',
  titles: ['ID', 'STATUS', 'RUNS', 'LAST RUN', 'TITLE'],
  row: ({ id, status, task_count, last_task_at, title }) => [
    id,
    status,
    String(task_count),
    formatTime(last_task_at),
    title ?? '-',
  ],
});

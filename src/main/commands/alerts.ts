import type { Alert } from '../../client/index.ts';
import { listCommand } from '../remote/list.ts';
import { formatTime } from '../remote/table.ts';

export default listCommand<Alert>('alerts', {
  route: 'GET /api/alerts',
  titles: ['ID', 'STATE', 'SINCE', 'MEASURE', 'THRESHOLD', 'NAME'],
  row: ({ id, enabled, state, state_since, measure, threshold, name }) => [
    ...[id, enabled ? state : 'disabled', formatTime(state_since), measure, String(threshold), name],
  ],
});

import type { StoredToken } from '../../client/index.ts';
import { listCommand } from '../remote/list.ts';
import { formatTime } from '../remote/table.ts';

export default listCommand<StoredToken>('tokens', {
  route: 'GET /api/tokens',
  titles: ['NAME', 'SHARED', 'CHANGED', 'USED BY'],
  row: ({ name, shared, updated_at, used_by }) => [
    name,
    shared ? 'yes' : 'no',
    formatTime(updated_at),
    used_by.join(', ') || '-',
  ],
});

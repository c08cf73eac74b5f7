import type { ServiceKey } from '../../client/index.ts';
import { listCommand } from '../remote/list.ts';
import { formatTime } from '../remote/table.ts';

export default listCommand<ServiceKey>('keys', {
  route: 'GET /api/keys',
  titles: ['ID', 'NAME', 'KEY', 'ROLE', 'SCOPES', 'EXPIRES', 'LAST USED'],
  row: ({ id, name, hint, role, scopes, expires_at, last_used_at }) => [
    ...[id, name, hint, role, scopes.join(',')],
    expires_at === null ? 'never' : formatTime(expires_at),
    formatTime(last_used_at),
  ],
});

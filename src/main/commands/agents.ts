import type { Agent } from '../../client/index.ts';
import { listCommand } from '../remote/list.ts';
import { formatTime } from '../remote/table.ts';

export default listCommand<Agent>('agents', {
  route: 'GET /api/agents',
  titles: ['ID', 'NAME', 'MODEL', 'CHANGED'],
  row: ({ id, name, model, updated_at }) => [id, name, model ?? 'default', formatTime(updated_at)],
});

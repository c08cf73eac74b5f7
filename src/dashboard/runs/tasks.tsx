import { Button, Group, NativeSelect } from '@mantine/core';
import { Link, useSearchParams } from 'react-router';
import { TASK_STATUSES, tasks } from '../../contracts/tasks.ts';
import { useList } from '../api/queries.ts';
import { useNames } from '../resources/references.ts';
import { ListTable } from '../ui/list.tsx';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { taskColumns } from './task-columns.tsx';

const EVERY_MS = 5_000;
const HOURS = { '1': 'last hour', '24': 'last day', '168': 'last week' };

export default function Tasks() {
  const [search, setSearch] = useSearchParams();
  const filters = Object.fromEntries(search);
  const { hours, ...rest } = filters;
  const query = useList(tasks.list, { limit: 50, ...rest, ...(hours ? { since: since(hours) } : {}) }, { every_ms: EVERY_MS });
  const workflows = useNames('workflow');
  const agents = useNames('agent');
  const set = (name: string, value: string) => {
    const { [name]: _, ...others } = filters;
    setSearch(value ? { ...others, [name]: value } : others, { replace: true });
  };
  const select = (name: string, label: string, options: { value: string; label: string }[]) => (
    <NativeSelect
      label={label}
      size="xs"
      value={filters[name] ?? ''}
      onChange={(event) => set(name, event.currentTarget.value)}
      data={[{ value: '', label: 'any' }, ...options]}
    />
  );
  const filtered = Object.keys(filters).length > 0;
  return (
    <Page title="Tasks">
      <Group align="end" gap="sm">
        {select(
          'status',
          'Status',
          TASK_STATUSES.map((status) => ({ value: status, label: status })),
        )}
        {select('workflow_id', 'Workflow', workflows.options)}
        {select('agent_id', 'Agent', agents.options)}
        {select(
          'hours',
          'Created',
          Object.entries(HOURS).map(([value, label]) => ({ value, label })),
        )}
        {filtered && (
          <Button variant="default" onClick={() => setSearch({}, { replace: true })}>
            Clear filters
          </Button>
        )}
      </Group>
      <ListTable
        query={query}
        columns={taskColumns}
        label="tasks"
        empty={
          filtered ? (
            <Empty>No task fits these filters.</Empty>
          ) : (
            <Empty
              action={
                <Button component={Link} to="/workflows">
                  Go to workflows
                </Button>
              }
            >
              No tasks yet. Send a prompt to a workflow and it shows here.
            </Empty>
          )
        }
      />
    </Page>
  );
}

/** To the minute, so that the query stays the same while the list is on show. */
const since = (hours: string) => new Date(Math.floor(Date.now() / 60_000) * 60_000 - Number(hours) * 3_600_000).toISOString();

import { Button, Group, NativeSelect } from '@mantine/core';
import { Link } from 'react-router';
import { tasks } from '../../contracts/tasks.ts';
import { TASK_STATUSES } from '../../domain/statuses.ts';
import { useList } from '../api/queries.ts';
import { type Option, useNames } from '../resources/references.ts';
import { useFilters } from '../ui/filters.ts';
import { ListTable } from '../ui/list.tsx';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { taskColumns } from './task-columns.tsx';

const EVERY_MS = 5_000;
const HOURS = { '1': 'last hour', '24': 'last day', '168': 'last week' };

export default function Tasks() {
  const wanted = useFilters();
  const { hours, ...rest } = wanted.filters;
  const query = useList(tasks.list, { limit: 50, ...rest, ...(hours ? { since: since(hours) } : {}) }, { every_ms: EVERY_MS });
  const go = (
    <Button component={Link} to="/workflows">
      Go to workflows
    </Button>
  );
  return (
    <Page title="Tasks">
      <Filters wanted={wanted} />
      <ListTable
        query={query}
        columns={taskColumns}
        label="tasks"
        empty={
          wanted.filtered ? (
            <Empty>No task matches these filters.</Empty>
          ) : (
            <Empty action={go}>No tasks yet. Send a prompt to a workflow to create one.</Empty>
          )
        }
      />
    </Page>
  );
}

function Filters({ wanted: { filters, filtered, set, clear } }: { wanted: ReturnType<typeof useFilters> }) {
  const workflows = useNames('workflow');
  const agents = useNames('agent');
  const select = (name: string, label: string, options: Option[]) => (
    <NativeSelect
      label={label}
      size="xs"
      value={filters[name] ?? ''}
      onChange={(event) => set(name, event.currentTarget.value)}
      data={[{ value: '', label: 'any' }, ...options]}
    />
  );
  return (
    <Group align="end" gap="sm">
      {select('status', 'Status', optionsOf(TASK_STATUSES.map((status) => [status, status])))}
      {select('workflow_id', 'Workflow', workflows.options)}
      {select('agent_id', 'Agent', agents.options)}
      {select('hours', 'Created', optionsOf(Object.entries(HOURS)))}
      {filtered && (
        <Button variant="default" onClick={clear}>
          Clear filters
        </Button>
      )}
    </Group>
  );
}

const optionsOf = (entries: [string, string][]): Option[] => entries.map(([value, label]) => ({ value, label }));

/** Rounded to the minute, so that polling keeps the same query. */
const since = (hours: string) => new Date(Math.floor(Date.now() / 60_000) * 60_000 - Number(hours) * 3_600_000).toISOString();

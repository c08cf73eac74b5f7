import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { Link } from 'react-router';
import { TASK_SORTS } from '../../contracts/task-lists.ts';
import { tasks } from '../../contracts/tasks.ts';
import { TASK_STATUSES } from '../../domain/statuses.ts';
import { useList, useRead } from '../api/queries.ts';
import { type Option, useNames } from '../resources/references.ts';
import { count } from '../ui/figures.ts';
import { useFilters } from '../ui/filters.ts';
import { ListTable } from '../ui/list.tsx';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { taskColumns } from './task-columns.tsx';
import { VersionFilter } from './version-filter.tsx';

const EVERY_MS = 5_000;
const TRIGGERS = ['prompt', 'schedule', 'fork', 'api'];
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
      <Errors wanted={wanted} />
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
      <TextInput
        label="Search"
        placeholder="prompt, answer or error"
        size="xs"
        type="search"
        value={filters.q ?? ''}
        onChange={(event) => set('q', event.currentTarget.value)}
      />
      {select('status', 'Status', optionsOf(TASK_STATUSES.map((status) => [status, status])))}
      {select('workflow_id', 'Workflow', workflows.options)}
      {select('agent_id', 'Agent', agents.options)}
      {select('hours', 'Created', optionsOf(Object.entries(HOURS)))}
      {select('trigger', 'Trigger', optionsOf(TRIGGERS.map((trigger) => [trigger, trigger])))}
      <NativeSelect
        label="Order"
        size="xs"
        value={filters.sort ?? 'newest'}
        onChange={(event) => set('sort', event.currentTarget.value)}
        data={TASK_SORTS.map((sort) => ({ value: sort, label: sort }))}
      />
      <VersionFilter wanted={{ filters, filtered, set, clear }} />
      {filtered && (
        <Button variant="default" onClick={clear}>
          Clear filters
        </Button>
      )}
    </Group>
  );
}

/** Why the listed tasks failed; each code is a filter. */
function Errors({ wanted: { filters, set } }: { wanted: ReturnType<typeof useFilters> }) {
  const { hours, sort: _sort, error_code: chosen, ...rest } = filters;
  const query = useRead(
    tasks.errors,
    { query: { ...rest, ...(hours ? { since: since(hours) } : {}) } as object },
    { every_ms: EVERY_MS },
  );
  if (!query.data || query.data.length === 0) return null;
  return (
    <Group gap="xs" role="group" aria-label="Errors">
      {query.data.map(({ error_code, runs, last_error }) => (
        <Button
          key={error_code}
          size="compact-xs"
          variant={chosen === error_code ? 'filled' : 'default'}
          aria-pressed={chosen === error_code}
          title={last_error ?? ''}
          onClick={() => set('error_code', chosen === error_code ? '' : error_code)}
        >
          {`${error_code} · ${count(runs)}`}
        </Button>
      ))}
    </Group>
  );
}

const optionsOf = (entries: [string, string][]): Option[] => entries.map(([value, label]) => ({ value, label }));

/** Rounded to the minute, so that polling keeps the same query. */
const since = (hours: string) => new Date(Math.floor(Date.now() / 60_000) * 60_000 - Number(hours) * 3_600_000).toISOString();

import { Button, Group, NativeSelect, Switch, TextInput } from '@mantine/core';
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
import { ErrorsTable } from './errors-table.tsx';
import { SavedViews } from './saved-views.tsx';
import { BulkBar, selectableColumns, useSelection } from './selection.tsx';
import { taskColumns } from './task-columns.tsx';
import { VersionFilter } from './version-filter.tsx';

const EVERY_MS = 5_000;
const TRIGGERS = ['prompt', 'schedule', 'fork', 'api', 'evaluation'];
const HOURS = { '1': 'last hour', '24': 'last day', '168': 'last week' };

export default function Tasks() {
  const wanted = useFilters();
  const { group, ...rest } = wanted.filters;
  return (
    <Page title="Tasks">
      <SavedViews filters={wanted.filters} replace={wanted.replace} />
      <Filters wanted={wanted} />
      {group === 'error' ? (
        <ErrorsTable query={errorQuery(rest)} choose={(error_code) => wanted.replace({ ...rest, error_code })} />
      ) : (
        <Found wanted={wanted} />
      )}
    </Page>
  );
}

function Found({ wanted }: { wanted: ReturnType<typeof useFilters> }) {
  const { hours, ...rest } = wanted.filters;
  const query = useList(tasks.list, { limit: 50, ...rest, ...(hours ? { since: since(hours) } : {}) }, { every_ms: EVERY_MS });
  const items = query.items ?? [];
  const selection = useSelection(items);
  const go = (
    <Button component={Link} to="/workflows">
      Go to workflows
    </Button>
  );
  return (
    <>
      <Errors wanted={wanted} />
      {items.length > 0 && <BulkBar selection={selection} items={items} />}
      <ListTable
        query={query}
        columns={selectableColumns(selection, taskColumns)}
        label="tasks"
        stacks
        empty={
          wanted.filtered ? (
            <Empty>No task matches these filters.</Empty>
          ) : (
            <Empty action={go}>No tasks yet. Send a prompt to a workflow to create one.</Empty>
          )
        }
      />
    </>
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
      <VersionFilter wanted={{ filters, set }} />
      <Switch
        label="Group by error"
        size="xs"
        checked={filters.group === 'error'}
        onChange={(event) => set('group', event.currentTarget.checked ? 'error' : '')}
      />
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
  const { error_code: chosen, ...rest } = filters;
  const query = useRead(tasks.errors, { query: errorQuery(rest) }, { every_ms: EVERY_MS });
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

/** The filters that errors are counted with. */
function errorQuery({ hours, sort: _sort, group: _group, ...rest }: Record<string, string>): object {
  return { ...rest, ...(hours ? { since: since(hours) } : {}) };
}

const optionsOf = (entries: [string, string][]): Option[] => entries.map(([value, label]) => ({ value, label }));

/** Rounded to the minute, so that polling keeps the same query. */
const since = (hours: string) => new Date(Math.floor(Date.now() / 60_000) * 60_000 - Number(hours) * 3_600_000).toISOString();

import { Button, Group } from '@mantine/core';
import { Link } from 'react-router';
import { tasks } from '../../contracts/tasks.ts';
import { useList, useRead } from '../api/queries.ts';
import { COUNTED_TASKS, formatNumber } from '../ui/figures.ts';
import { useFilters } from '../ui/filters.ts';
import { ListTable } from '../ui/list.tsx';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { ErrorsTable } from './errors-table.tsx';
import { RunsOverTime } from './over-time.tsx';
import { SavedViews } from './saved-views.tsx';
import { BulkBar, nameTask, selectColumn, useSelection } from './selection.tsx';
import { taskColumns } from './task-columns.tsx';
import { TaskFilters } from './task-filters.tsx';
import { toTaskQuery } from './task-query.ts';

export default function Tasks() {
  const filter_state = useFilters();
  const { group, ...rest } = filter_state.filters;
  return (
    <Page title="Tasks" actions={<SavedViews filters={filter_state.filters} replace={filter_state.replace} />}>
      {!filter_state.filtered && <RunsOverTime />}
      <TaskFilters wanted={filter_state} />
      {group === 'error' ? (
        <ErrorsTable query={errorQuery(rest)} choose={(error_code) => filter_state.replace({ ...rest, error_code })} />
      ) : (
        <Found wanted={filter_state} />
      )}
    </Page>
  );
}

function Found({ wanted }: { wanted: ReturnType<typeof useFilters> }) {
  const query = useList(tasks.list, { limit: 50, count_to: COUNTED_TASKS, ...toTaskQuery(wanted.filters) });
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
      <BulkBar selection={selection} items={items} />
      <ListTable
        query={query}
        columns={[selectColumn(selection, nameTask), ...taskColumns]}
        label="tasks"
        empty={
          wanted.filtered ? (
            <Empty>No task matches these filters.</Empty>
          ) : (
            <Empty
              action={go}
              title="No tasks yet"
              about="A task is one prompt that a workflow runs. Each is listed here with its state, its steps and its cost."
              example="“Summarise the tickets of yesterday” → completed, 3 turns, 4,210 tokens, $0.02"
            />
          )
        }
      />
    </>
  );
}

/** Counts the reasons why the listed tasks failed; each code is a filter. */
function Errors({ wanted: { filters, set } }: { wanted: ReturnType<typeof useFilters> }) {
  const { error_code: chosen, ...rest } = filters;
  const query = useRead(tasks.errors, { query: errorQuery(rest) });
  if (!query.data || query.data.length === 0) return null;
  return (
    <Group gap={6} role="group" aria-label="Errors" className="errors">
      <span className="note">Failed with</span>
      {query.data.map(({ error_code, runs, last_error }) => (
        <Button
          key={error_code}
          size="compact-xs"
          variant={chosen === error_code ? 'filled' : 'default'}
          aria-pressed={chosen === error_code}
          title={last_error ?? ''}
          onClick={() => set('error_code', chosen === error_code ? '' : error_code)}
        >
          {`${error_code} · ${formatNumber(runs)}`}
        </Button>
      ))}
    </Group>
  );
}

/** Returns the filters with which errors are counted. */
function errorQuery({ sort: _sort, ...rest }: Record<string, string>): object {
  return toTaskQuery(rest);
}

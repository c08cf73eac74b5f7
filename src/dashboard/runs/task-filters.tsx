import { Switch } from '@mantine/core';
import { TASK_SORTS } from '../../contracts/task-lists.ts';
import { usage } from '../../contracts/usage.ts';
import { TASK_STATUSES } from '../../domain/statuses.ts';
import { useRead } from '../api/queries.ts';
import { type Option, useNames } from '../resources/references.ts';
import { FilterBar, FilterChip, type FilterField } from '../ui/filter-bar.tsx';
import type { useFilters } from '../ui/filters.ts';
import { VersionFilter } from './version-filter.tsx';

const TRIGGERS = ['prompt', 'schedule', 'fork', 'api', 'evaluation'];
const HOURS = { '1': 'last hour', '24': 'last day', '168': 'last week' };
const REMEMBERED_MS = 90 * 24 * 3_600_000;
const HOUR_MS = 3_600_000;

export function TaskFilters({ wanted }: { wanted: ReturnType<typeof useFilters> }) {
  const { filters, set } = wanted;
  const fields: FilterField[] = [
    { name: 'status', label: 'Status', options: toOptions(TASK_STATUSES.map((status) => [status, status])), pinned: true },
    { name: 'workflow_id', label: 'Workflow', options: useNames('workflow').options },
    { name: 'agent_id', label: 'Agent', options: useNames('agent').options },
    { name: 'model', label: 'Model', options: useModels(filters.model) },
    { name: 'tool', label: 'Tool' },
    { name: 'trigger', label: 'Trigger', options: toOptions(TRIGGERS.map((trigger) => [trigger, trigger])) },
    { name: 'hours', label: 'Created', options: toOptions(Object.entries(HOURS)) },
    { name: 'from', label: 'From', type: 'date', max: filters.to },
    { name: 'to', label: 'To', type: 'date', min: filters.from },
    { name: 'min_cost', label: 'Cost from ($)', type: 'number', min: 0 },
    { name: 'max_cost', label: 'Cost to ($)', type: 'number', min: 0 },
  ];
  return (
    <FilterBar fields={fields} wanted={wanted} search="part of prompt, answer, error or id">
      <VersionFilter wanted={wanted} />
      <FilterChip
        field={{ name: 'sort', label: 'Order', options: ORDERS }}
        value={filters.sort ?? ''}
        onChange={(value) => set('sort', value)}
      />
      <Switch
        label="Group by error"
        size="xs"
        checked={filters.group === 'error'}
        onChange={(event) => set('group', event.currentTarget.checked ? 'error' : '')}
      />
    </FilterBar>
  );
}

/** Returns the models of the last months' runs, and the selected one. */
function useModels(model: string | undefined): Option[] {
  const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const period = { from: new Date(hour - REMEMBERED_MS).toISOString(), to: new Date(hour + HOUR_MS).toISOString() };
  const { data } = useRead(usage.get, { query: { ...period, by: 'model', most: 200 } });
  const names = [model, ...(data?.rows.map(({ key }) => key) ?? [])].filter((name) => typeof name === 'string' && name !== '');
  return toOptions([...new Set(names as string[])].sort().map((name) => [name, name]));
}

const toOptions = (entries: [string, string][]): Option[] => entries.map(([value, label]) => ({ value, label }));

/** The orders of the list. The first is the default, which is not in the URL. */
const ORDERS = toOptions(TASK_SORTS.map((sort, at) => [at === 0 ? '' : sort, sort]));

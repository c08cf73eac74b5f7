import { Button, Group, NativeSelect, Switch, TextInput, type TextInputProps } from '@mantine/core';
import { useState } from 'react';
import { TASK_SORTS } from '../../contracts/task-lists.ts';
import { usage } from '../../contracts/usage.ts';
import { TASK_STATUSES } from '../../domain/statuses.ts';
import { useRead } from '../api/queries.ts';
import { type Option, useNames } from '../resources/references.ts';
import type { useFilters } from '../ui/filters.ts';
import { VersionFilter } from './version-filter.tsx';

const TRIGGERS = ['prompt', 'schedule', 'fork', 'api', 'evaluation'];
const HOURS = { '1': 'last hour', '24': 'last day', '168': 'last week' };
const REMEMBERED_MS = 90 * 24 * 3_600_000;
const HOUR_MS = 3_600_000;

export function TaskFilters({ wanted }: { wanted: ReturnType<typeof useFilters> }) {
  const { filters, filtered, set, clear } = wanted;
  const workflows = useNames('workflow');
  const agents = useNames('agent');
  // Collapsed at first on a phone, where the filters would fill the screen.
  const [open, setOpen] = useState(false);
  const select = (name: string, label: string, options: Option[]) => (
    <NativeSelect
      label={label}
      size="xs"
      value={filters[name] ?? ''}
      onChange={(event) => set(name, event.currentTarget.value)}
      data={[{ value: '', label: 'any' }, ...options]}
    />
  );
  const input = (name: string, label: string, props: TextInputProps) => (
    <TextInput
      label={label}
      size="xs"
      value={filters[name] ?? ''}
      onChange={(event) => set(name, event.currentTarget.value)}
      {...props}
    />
  );
  return (
    <Group align="end" gap="sm">
      {input('q', 'Search', { type: 'search', placeholder: 'part of prompt, answer, error or id' })}
      <Button variant="default" hiddenFrom="xs" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? 'Fewer filters' : 'More filters'}
      </Button>
      <div className="more-filters" data-open={open}>
        {select('status', 'Status', toOptions(TASK_STATUSES.map((status) => [status, status])))}
        {select('workflow_id', 'Workflow', workflows.options)}
        {select('agent_id', 'Agent', agents.options)}
        {select('model', 'Model', useModels(filters.model))}
        {select('trigger', 'Trigger', toOptions(TRIGGERS.map((trigger) => [trigger, trigger])))}
        {select('hours', 'Created', toOptions(Object.entries(HOURS)))}
        {input('from', 'From', { type: 'date', max: filters.to })}
        {input('to', 'To', { type: 'date', min: filters.from })}
        {input('min_cost', 'Cost from ($)', { type: 'number', min: 0, step: 'any', w: 100 })}
        {input('max_cost', 'Cost to ($)', { type: 'number', min: 0, step: 'any', w: 100 })}
        <NativeSelect
          label="Order"
          size="xs"
          value={filters.sort ?? 'newest'}
          onChange={(event) => set('sort', event.currentTarget.value)}
          data={TASK_SORTS.map((sort) => ({ value: sort, label: sort }))}
        />
        <VersionFilter wanted={{ filters, set }} />
      </div>
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

/** Returns the models of the last months' runs, and the selected one. */
function useModels(model: string | undefined): Option[] {
  const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const period = { from: new Date(hour - REMEMBERED_MS).toISOString(), to: new Date(hour + HOUR_MS).toISOString() };
  const { data } = useRead(usage.get, { query: { ...period, by: 'model', most: 200 } });
  const names = [model, ...(data?.rows.map(({ key }) => key) ?? [])].filter((name) => typeof name === 'string' && name !== '');
  return toOptions([...new Set(names as string[])].sort().map((name) => [name, name]));
}

const toOptions = (entries: [string, string][]): Option[] => entries.map(([value, label]) => ({ value, label }));

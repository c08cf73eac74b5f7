import { Progress, Stack, Text } from '@mantine/core';
import { useEffect } from 'react';
import { tasks } from '../../contracts/tasks.ts';
import { useRead } from '../api/queries.ts';
import { Status } from '../ui/show.tsx';
import type { CallBlock } from './run-state.ts';

const TOOL = 'manage_todo_list';
const STATES: Record<string, string> = { done: 'completed', 'in-progress': 'running' };

/** Shows the to-do list, if the agent keeps one. */
export function Todos({ task_id, calls }: { task_id: string; calls: CallBlock[] }) {
  const update_count = calls.filter(({ name, state }) => name === TOOL && state === 'done').length;
  const query = useRead(tasks.progress, { params: { id: task_id } }, { enabled: update_count > 0 });
  const { data, refetch } = query;
  useEffect(() => {
    if (update_count > 0) void refetch();
  }, [update_count, refetch]);
  if (!data || data.todos.length === 0) return null;
  return (
    <Stack gap={6} className="panel" mb="md" component="section" aria-label="To-do list">
      <Text fw={600}>
        {data.percent_complete} % done{data.current_step ? `: ${data.current_step}` : ''}
      </Text>
      <Progress value={data.percent_complete} aria-label="Progress" size="sm" />
      {data.todos.map(({ id, title, status }) => (
        <Status key={id} of={STATES[status] ?? 'planned'}>
          {title} <span className="visually-hidden">({status})</span>
        </Status>
      ))}
    </Stack>
  );
}

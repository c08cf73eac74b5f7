import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { runInspection } from '../../contracts/run-inspection.ts';
import type { Task } from '../../contracts/tasks.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { useRead } from '../api/queries.ts';
import { useNow } from '../ui/clock.ts';
import { Empty, Loaded } from '../ui/states.tsx';
import { useUrlQuery } from '../ui/url-query.ts';
import { SpanPanel } from './span-panel.tsx';
import { Waterfall } from './waterfall.tsx';

const PAUSE_MS = 500;

interface StepsProps {
  task: Task;
  status: string;
  /** Changes with everything that the run logs. */
  version: number;
}

/** What the run did, on one time axis, and the details of the selected row. */
export function Steps({ task, status, version }: StepsProps) {
  const query = useRead(runInspection.timeline, { params: { id: task.id } });
  const queries = useQueryClient();
  const now = useNow(!isTerminal(status));
  const inUrl = useUrlQuery();
  const selected = inUrl.query.get('step');
  const select = (id: string) => (selected === null ? inUrl.open('step', id) : inUrl.set('step', id));
  // biome-ignore lint/correctness/useExhaustiveDependencies: each thing that is logged may have changed a step
  useEffect(() => {
    const changed = [runInspection.timeline.operation, runInspection.step.operation];
    const timer = setTimeout(() => {
      for (const operation of changed) void queries.invalidateQueries({ queryKey: [operation] });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [version, queries]);
  return (
    <Loaded query={query} what="Loading the steps">
      {(spans) => {
        if (spans.length === 0) return <Empty>No steps yet.</Empty>;
        const span = spans.find(({ id }) => id === selected);
        return (
          <div className="run-steps" data-open={span !== undefined}>
            <Waterfall spans={spans} now={now} selected={span?.id ?? null} select={select} />
            {span ? (
              <SpanPanel key={span.id} task={task} span={span} now={now} close={() => inUrl.close('step')} />
            ) : (
              <Text c="dimmed">
                {selected === null ? 'Select a row to see its details.' : `This run has no step ${selected}.`}
              </Text>
            )}
          </div>
        );
      }}
    </Loaded>
  );
}

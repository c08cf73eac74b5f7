import './run-page.css';
import { Stack, Tabs } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Task } from '../../contracts/tasks.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { useLiveText } from '../ui/live.tsx';
import { Failure } from '../ui/states.tsx';
import { useTab } from '../ui/tabs.ts';
import { Details } from './details.tsx';
import { RunLog } from './log.tsx';
import { NowLine } from './now-line.tsx';
import { Pauses } from './pauses.tsx';
import { RunFacts } from './run-facts.tsx';
import { RunHead } from './run-head.tsx';
import { Steps } from './steps.tsx';
import { Todos } from './todos.tsx';
import { Transcript } from './transcript.tsx';
import { type Followed, useRun } from './use-run.ts';

interface ViewProps {
  task: Task;
  /** True on the run's own page, where its first action is that of the page. */
  own_page?: boolean;
}

/** One run: live from its stream while it runs, and from its record after it has ended. */
export function RunView({ task, own_page = false }: ViewProps) {
  const followed = useRun(task.workflow_id, task.id);
  const { run } = followed;
  const status = useFreshTask(task, followed);
  const view = useTab('view', ['conversation', 'steps', 'log', 'details'], { back: true });
  const calls = run.blocks.filter((block) => block.kind === 'call');
  return (
    <Stack gap="sm" className="run-view">
      <RunHead task={task} status={status} followed={followed} own_page={own_page} />
      <Failure problem={followed.problem} />
      <Pauses task={task} status={status} calls={calls} behind={run.behind} logs={run.logs} />
      <NowLine task={task} run={run} status={status} />
      <Tabs {...view} keepMounted={false}>
        <Tabs.List aria-label="Views of the run">
          <Tabs.Tab value="conversation">Conversation</Tabs.Tab>
          <Tabs.Tab value="steps">Steps</Tabs.Tab>
          <Tabs.Tab value="log">Log</Tabs.Tab>
          <Tabs.Tab value="details">Details</Tabs.Tab>
        </Tabs.List>
        <div className="run-columns" data-view={view.value}>
          <div className="run-main">
            <Tabs.Panel value="conversation">
              <Todos task_id={task.id} calls={calls} />
              <Transcript task={task} followed={followed} />
            </Tabs.Panel>
            <Tabs.Panel value="steps">
              <Steps task={task} status={status} version={run.logs.length} />
            </Tabs.Panel>
            <Tabs.Panel value="log">
              <RunLog lines={run.logs} />
            </Tabs.Panel>
            <Tabs.Panel value="details">
              <Details task={task} />
            </Tabs.Panel>
          </div>
          <RunFacts task={task} status={status} followed={followed} />
        </div>
      </Tabs>
    </Stack>
  );
}

/** The status of the run. The stream is newer than the task that was read, so a change of status reads the task again. */
function useFreshTask(task: Task, { run }: Followed): string {
  const queries = useQueryClient();
  const status = run.status ?? task.status;
  useEffect(() => {
    if (run.status && run.status !== task.status) void queries.invalidateQueries();
  }, [run.status, task.status, queries]);
  useLiveText(`The run is ${status}`);
  return isTerminal(task.status) ? task.status : status;
}

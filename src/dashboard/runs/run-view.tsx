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
import { RunHead } from './run-head.tsx';
import { Steps } from './steps.tsx';
import { Todos } from './todos.tsx';
import { Transcript } from './transcript.tsx';
import { type Followed, useRun } from './use-run.ts';

/** One run: live from its stream while it runs, and from its record after it has ended. */
export function RunView({ task }: { task: Task }) {
  const followed = useRun(task.workflow_id, task.id);
  const status = useFreshTask(task, followed);
  const view = useTab('view', ['conversation', 'steps', 'log', 'details']);
  const calls = followed.run.blocks.filter((block) => block.kind === 'call');
  return (
    <Stack gap="md">
      <RunHead task={task} status={status} followed={followed} />
      <NowLine run={followed.run} status={status} />
      <Failure problem={followed.problem} />
      <Pauses task={task} status={status} calls={calls} behind={followed.run.behind} logs={followed.run.logs} />
      <Tabs {...view} keepMounted={false}>
        <Tabs.List aria-label="Views of the run">
          <Tabs.Tab value="conversation">Conversation</Tabs.Tab>
          <Tabs.Tab value="steps">Steps</Tabs.Tab>
          <Tabs.Tab value="log">Log</Tabs.Tab>
          <Tabs.Tab value="details">Details</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="conversation" pt="md">
          <Todos task_id={task.id} calls={calls} />
          <Transcript task={task} followed={followed} />
        </Tabs.Panel>
        <Tabs.Panel value="steps" pt="md">
          <Steps task={task} status={status} version={followed.run.logs.length} />
        </Tabs.Panel>
        <Tabs.Panel value="log" pt="md">
          <RunLog lines={followed.run.logs} />
        </Tabs.Panel>
        <Tabs.Panel value="details" pt="md">
          <Details task={task} />
        </Tabs.Panel>
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

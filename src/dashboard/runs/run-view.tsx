import { Anchor, Stack, Tabs, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link } from 'react-router';
import type { Task } from '../../contracts/tasks.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { count, duration, money } from '../ui/format.ts';
import { useLiveText } from '../ui/live.tsx';
import { Facts, Status } from '../ui/show.tsx';
import { Failure } from '../ui/states.tsx';
import { useTab } from '../ui/tabs.ts';
import { When } from '../ui/time.tsx';
import { Details } from './details.tsx';
import { RunLog } from './log.tsx';
import { Pauses } from './pauses.tsx';
import { RunActions } from './run-actions.tsx';
import { Steps } from './steps.tsx';
import { Todos } from './todos.tsx';
import { Transcript } from './transcript.tsx';
import { type Followed, useRun } from './use-run.ts';

const TICK_MS = 1_000;

/** The duration of the run. While it runs, the browser's clock counts. */
function Took({ task, status }: { task: Task; status: string }) {
  const live = task.started_at !== null && task.completed_at === null && (status === 'running' || status === 'waiting');
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!live) return;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [live]);
  if (live) return duration(Math.max(0, now - Date.parse(task.started_at!)));
  return duration(task.elapsed_seconds === null ? null : task.elapsed_seconds * 1000);
}

const CONNECTION = {
  connecting: 'Connecting …',
  live: 'Live',
  reconnecting: 'Connection lost, reconnecting …',
  ended: '',
};

/** One run: live from its stream while it runs, and from its record after it has ended. */
export function RunView({ task }: { task: Task }) {
  const followed = useRun(task.workflow_id, task.id);
  const status = useFreshTask(task, followed);
  const view = useTab('view', ['conversation', 'steps', 'log', 'details']);
  const calls = followed.run.blocks.filter((block) => block.kind === 'call');
  return (
    <Stack gap="md">
      <Head task={task} status={status} followed={followed} />
      {followed.problem && <Failure problem={followed.problem} />}
      <Pauses task={task} status={status} calls={calls} />
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
          <Steps task={task} version={followed.run.logs.length} />
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

function Head({ task, status, followed: { run, connection } }: { task: Task; status: string; followed: Followed }) {
  const usage = run.usage ?? task.usage;
  return (
    <Stack gap="xs" className="panel">
      <Facts
        of={{
          Status: <Status of={status} />,
          Workflow: (
            <Anchor component={Link} to={`/workflows/${task.workflow_id}`} inherit>
              {task.workflow_title ?? 'untitled'}
            </Anchor>
          ),
          Agent: (
            <Anchor component={Link} to={`/agents/${task.agent_id}`} inherit>
              {task.agent_name}
            </Anchor>
          ),
          Model: task.model ?? 'default',
          Turns: Math.max(run.turn, task.turns),
          Tokens: `${count(usage.total_in)} in, ${count(usage.total_out)} out`,
          Cost: money(usage.cost),
          Duration: <Took task={task} status={status} />,
          Created: <When at={task.created_at} />,
        }}
      />
      {task.error && (
        <Text c="var(--mantine-color-error)" role="alert">
          {task.error} {task.error_code && <span className="mono">({task.error_code})</span>}
        </Text>
      )}
      {task.turn_limit_reached && (
        <Text c="dimmed">The turn limit was reached, so the model had to answer without further tool calls.</Text>
      )}
      <RunActions task={task} status={status} />
      {CONNECTION[connection] && (
        <Text size="xs" c="dimmed" data-connection={connection}>
          {CONNECTION[connection]}
        </Text>
      )}
    </Stack>
  );
}

import { Anchor, Group, Stack, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { ForkedFrom } from '../../contracts/events.ts';
import { type Task, type TaskDetail, tasks } from '../../contracts/tasks.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { requestUrl } from '../api/call.ts';
import { useRead } from '../api/queries.ts';
import { useNow } from '../ui/clock.ts';
import { Copy } from '../ui/copy.tsx';
import { findKnownCost, formatDuration, formatNumber, formatTokens } from '../ui/figures.ts';
import { Facts, Status } from '../ui/show.tsx';
import { When } from '../ui/time.tsx';
import { budgetUse } from './budget-use.ts';
import { RunActions } from './run-actions.tsx';
import { RunCost } from './run-cost.tsx';
import { RunFiles } from './run-files.tsx';
import { countTurns } from './run-state.ts';
import { useScored } from './scores.tsx';
import type { Followed } from './use-run.ts';

/**
 * Returns the input to read a run without its messages and logs, which the stream delivers. An empty value would be dropped
 * from the URL.
 */
export const toRunInput = (id: string) => ({ params: { id }, query: { include: ',' } });

const CONNECTION = {
  connecting: 'Connecting …',
  live: 'Live',
  reconnecting: 'Connection lost, reconnecting …',
  ended: '',
};

interface HeadProps {
  task: Task;
  status: string;
  followed: Followed;
}

/** Shows the facts about a run at a glance, and the actions on it. */
export function RunHead({ task, status, followed: { run, connection } }: HeadProps) {
  const { data, dataUpdatedAt } = useRead(tasks.get, toRunInput(task.id));
  const usage = run.usage ?? task.usage;
  const scored = useScored(task.id);
  const live = task.started_at !== null && !isTerminal(status);
  const now = useNow(live);
  const age_ms = live ? Math.max(0, now - dataUpdatedAt) : 0;
  const elapsed_ms = getElapsedMs(task, live ? now : null);
  const waiting_ms = (data?.waiting_seconds ?? 0) * 1000 + (status === 'waiting' ? age_ms : 0);
  const costs = { cost: usage.cost, priced: usage.priced ?? data?.priced ?? true };
  const budget = budgetUse(data?.budget ?? null, {
    cost: findKnownCost(costs),
    tokens: usage.total_in + usage.total_out,
    seconds: (elapsed_ms ?? 0) / 1000,
  });
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
          Turns: Math.max(countTurns(run), task.turns),
          Tokens: formatTokens(usage),
          Cost: <RunCost {...costs} />,
          ...(budget && { Budget: budget }),
          Duration: formatDuration(elapsed_ms),
          ...(waiting_ms > 0 &&
            elapsed_ms !== null && {
              Working: formatDuration(Math.max(0, elapsed_ms - waiting_ms)),
              Waiting: formatDuration(waiting_ms),
            }),
          Created: <When at={task.created_at} />,
          ...(task.attachments.length > 0 && { Files: <RunFiles files={task.attachments} /> }),
          ...(scored && { Scores: scored }),
          ...(task.forked_from && { 'Forked from': <Source of={task.forked_from} /> }),
          ...(data && data.forks.length > 0 && { Forks: <Forks of={data.forks} /> }),
        }}
      />
      {task.error && (
        <Text c="var(--mantine-color-error)" role="alert">
          {task.error} {task.error_code && <span className="mono">({task.error_code})</span>}
        </Text>
      )}
      {task.truncated && (
        <Text c="dimmed" data-testid="truncated">
          The answer ended at the model's output limit, so it is incomplete. Raise max_output_tokens, or ask for a shorter answer.
        </Text>
      )}
      {task.turn_limit_reached && (
        <Text c="dimmed">The turn limit was reached, so the model had to answer without further tool calls.</Text>
      )}
      <RunActions task={task} status={status} />
      <Group gap="xs">
        <Copy text={task.id} what="the id of the run" label="Copy id" />
        <Copy text={toCurlCommand(task)} what="a curl command that reads the run" label="Copy curl" />
        {CONNECTION[connection] && (
          <Text size="xs" c="dimmed" data-connection={connection}>
            {CONNECTION[connection]}
          </Text>
        )}
      </Group>
    </Stack>
  );
}

/** Returns the elapsed time. While the run is in progress, the browser's clock counts. */
function getElapsedMs({ started_at, elapsed_seconds }: Task, now: number | null): number | null {
  if (now !== null && started_at !== null) return Math.max(0, now - Date.parse(started_at));
  return elapsed_seconds === null ? null : elapsed_seconds * 1000;
}

function Source({ of: { task_id, step } }: { of: ForkedFrom }) {
  return (
    <Anchor component={Link} to={`/tasks/${task_id}`} inherit>
      step {step} of another run
    </Anchor>
  );
}

const MOST_FORKS = 5;

function Forks({ of }: { of: TaskDetail['forks'] }) {
  return (
    <span className="links">
      {of.slice(-MOST_FORKS).map(({ task_id, step, status }) => (
        <Anchor key={task_id} component={Link} to={`/tasks/${task_id}`} inherit>
          from step {step} ({status})
        </Anchor>
      ))}
      {of.length > MOST_FORKS && <span>and {formatNumber(of.length - MOST_FORKS)} earlier</span>}
    </span>
  );
}

const toCurlCommand = ({ id }: Task) =>
  `curl ${location.origin}${requestUrl(tasks.get, { params: { id } })} -H "Authorization: Bearer $TOKEN"`;

import { Text } from '@mantine/core';
import type { Task } from '../../contracts/tasks.ts';
import { formatDuration, formatNumber } from '../ui/figures.ts';
import { Status } from '../ui/show.tsx';
import { RunActions } from './run-actions.tsx';
import { RunCost } from './run-cost.tsx';
import { useRunFigures } from './run-figures.ts';
import type { Followed } from './use-run.ts';

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
  /** True on the run's own page, where its first action is that of the page. */
  own_page?: boolean;
}

/** One line about a run, with what can be done with it, and below what went wrong. */
export function RunHead({ task, status, followed, own_page = false }: HeadProps) {
  const { usage, priced, elapsed_ms } = useRunFigures(task, status, followed);
  const { connection } = followed;
  return (
    <div className="run-head">
      <div className="run-bar">
        <Status of={status} />
        <span className="run-brief">
          <span>{formatDuration(elapsed_ms)}</span>
          <span>
            <RunCost usage={{ ...usage, priced }} />
          </span>
          <span>{formatNumber(usage.total_in + usage.total_out)} tokens</span>
          {CONNECTION[connection] && <span data-connection={connection}>{CONNECTION[connection]}</span>}
        </span>
        <RunActions task={task} status={status} own_page={own_page} />
      </div>
      {task.error && (
        <Text c="var(--mantine-color-error)" role="alert" dir="auto">
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
    </div>
  );
}

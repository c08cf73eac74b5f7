import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import { type Task, tasks } from '../../contracts/tasks.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { useRefusal } from '../api/may.ts';
import { useAct } from '../api/queries.ts';
import { RunCost } from '../runs/run-cost.tsx';
import { getElapsedMs } from '../runs/run-figures.ts';
import type { LiveRun } from '../runs/run-state.ts';
import { useNow } from '../ui/clock.ts';
import { Copy } from '../ui/copy.tsx';
import { formatDuration, formatTokenCount } from '../ui/figures.ts';
import { Status } from '../ui/show.tsx';
import { FailureBelow } from '../ui/states.tsx';
import { areEdits, type TurnVersions, VersionSwitch } from './versions.tsx';

interface FootProps {
  task: Task;
  run: LiveRun;
  status: string;
  versions: TurnVersions;
}

/** What is said of a turn besides its answer. While it works, that is shown above. */
const OUTCOMES = ['waiting', 'failed', 'halted'];

/** Below a turn: how it ended, what it cost, and what can be done with its answer. */
export function TurnFoot({ task, run, status, versions }: FootProps) {
  const usage = run.usage ?? task.usage;
  const answer = run.blocks.findLast((block) => block.kind === 'text' && block.role === 'assistant');
  const ended = isTerminal(status);
  const now = useNow(!ended);
  const elapsed_ms = getElapsedMs(task, ended ? null : now);
  return (
    <div className="chat-foot">
      {task.error && (
        <Text c="var(--mantine-color-error)" role="alert" dir="auto" className="chat-error">
          {task.error}
        </Text>
      )}
      {task.truncated && <Text c="dimmed">The answer ended at the model's output limit, so it is incomplete.</Text>}
      {task.turn_limit_reached && (
        <Text c="dimmed">The turn limit was reached, so the model had to answer without further tool calls.</Text>
      )}
      <div className="chat-tools">
        {!areEdits(versions) && <VersionSwitch task={task} versions={versions} />}
        {OUTCOMES.includes(status) && <Status of={status} />}
        <span className="chat-figures">
          {elapsed_ms !== null && <span>{formatDuration(elapsed_ms)}</span>}
          {usage.total_in + usage.total_out > 0 && (
            <>
              <span>
                cost <RunCost usage={usage} />
              </span>
              <span>{formatTokenCount(usage)}</span>
            </>
          )}
          <Anchor component={Link} to={`/tasks/${task.id}`} underline="always">
            Run
          </Anchor>
        </span>
        <span className="chat-buttons">
          {ended && answer?.kind === 'text' && <Copy text={answer.text} what="the answer" />}
          {ended && versions.refusal === null && <Regenerate task={task} />}
        </span>
      </div>
    </div>
  );
}

/** Has the model answer once more, as another version of the turn. The calls that it made stay as they are. */
function Regenerate({ task }: { task: Task }) {
  const fork = useAct(tasks.fork);
  const refusal = useRefusal(fork.needs);
  const again = () => fork.mutate({ params: { id: task.id }, body: { from_step: Math.max(task.steps, 1), in_thread: true } });
  const label = task.status === 'completed' ? 'Regenerate' : 'Try again';
  return (
    <>
      <button
        type="button"
        className="copy"
        disabled={refusal !== null || fork.isPending}
        title={refusal ?? 'The model answers once more. This answer stays as another version.'}
        onClick={again}
      >
        {label}
      </button>
      <FailureBelow problem={fork.error} />
    </>
  );
}

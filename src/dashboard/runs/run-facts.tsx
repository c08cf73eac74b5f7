import { Anchor } from '@mantine/core';
import { ExternalLink } from 'lucide-react';
import type { CSSProperties } from 'react';
import { Link } from 'react-router';
import type { ForkedFrom } from '../../contracts/forks.ts';
import { type Task, type TaskDetail, tasks } from '../../contracts/tasks.ts';
import { requestUrl } from '../api/call.ts';
import { Copy } from '../ui/copy.tsx';
import { formatDuration, formatNumber, formatTokens } from '../ui/figures.ts';
import { Facts } from '../ui/show.tsx';
import { When } from '../ui/time.tsx';
import type { LimitUse } from './budget-use.ts';
import { RunCost } from './run-cost.tsx';
import { useRunFigures } from './run-figures.ts';
import { RunFiles } from './run-files.tsx';
import { shortId } from './run-name.ts';
import { RunVersion } from './run-version.tsx';
import { useScored } from './scores.tsx';
import type { Followed } from './use-run.ts';

interface FactsProps {
  task: Task;
  status: string;
  followed: Followed;
}

/** The facts about a run, next to its views. */
export function RunFacts({ task, status, followed }: FactsProps) {
  const { usage, priced, turns, elapsed_ms, waiting_ms, working_ms, budget, forks } = useRunFigures(task, status, followed);
  const scored = useScored(task.id);
  return (
    <aside className="run-facts" aria-label="Facts about the run">
      <Facts
        of={{
          Workflow: (
            <Anchor component={Link} to={`/workflows/${task.workflow_id}`} inherit>
              <bdi>{task.workflow_title ?? 'untitled'}</bdi>
            </Anchor>
          ),
          Version: <RunVersion task={task} />,
          Agent: (
            <Anchor component={Link} to={`/agents/${task.agent_id}`} inherit>
              <bdi>{task.agent_name}</bdi>
            </Anchor>
          ),
          ...(task.thread_id && {
            Conversation: (
              <Anchor component={Link} to={`/chat/${task.thread_id}`} inherit>
                turn {task.thread_turn}
              </Anchor>
            ),
          }),
          Model: task.model ?? 'default',
        }}
      />
      <Facts
        of={{
          Cost: <RunCost usage={{ ...usage, priced }} />,
          Tokens: formatTokens(usage),
          Turns: <span title="Tool calls; the limit of turns counts them">{turns}</span>,
          ...(budget.length > 0 && { Budget: <Budget of={budget} /> }),
        }}
      />
      <Facts
        of={{
          Created: <When at={task.created_at} />,
          Started: <When at={task.started_at} none="not yet" />,
          ...(task.completed_at && { Ended: <When at={task.completed_at} /> }),
          Duration: formatDuration(elapsed_ms),
          ...(waiting_ms > 0 &&
            working_ms !== null && { Working: formatDuration(working_ms), Waiting: formatDuration(waiting_ms) }),
          Trigger: task.scheduled_agent_id ? (
            <Anchor component={Link} to={`/scheduled-agents/${task.scheduled_agent_id}`} inherit>
              {task.trigger}
            </Anchor>
          ) : (
            task.trigger
          ),
        }}
      />
      <Related task={task} scored={scored} forks={forks} />
      <div className="run-links">
        <span className="mono" title={task.id}>
          {shortId(task.id)}
        </span>
        <Copy text={task.id} what="the id of the run" label="Copy id" />
        <Copy text={toCurlCommand(task)} what="a curl command that reads the run" label="Copy curl" />
        {task.engine_run_url && (
          <Anchor href={task.engine_run_url} target="_blank" rel="noreferrer noopener" size="xs" className="outward">
            Temporal UI <ExternalLink size={12} aria-hidden />
          </Anchor>
        )}
      </div>
    </aside>
  );
}

/** What belongs to some runs only. */
function Related({ task, scored, forks }: { task: Task; scored: string | null; forks: TaskDetail['forks'] }) {
  const of = {
    ...(task.attachments.length > 0 && { Files: <RunFiles files={task.attachments} /> }),
    ...(scored && { Scores: scored }),
    ...(task.forked_from && { 'Forked from': <Source of={task.forked_from} /> }),
    ...(forks.length > 0 && { Forks: <Forks of={forks} /> }),
  };
  return Object.keys(of).length > 0 ? <Facts of={of} /> : null;
}

function Budget({ of }: { of: LimitUse[] }) {
  return of.map(({ text, part }) => (
    <span key={text} className="limit" style={{ '--part': `${part * 100}%` } as CSSProperties} data-full={part >= 0.9}>
      {text}
    </span>
  ));
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

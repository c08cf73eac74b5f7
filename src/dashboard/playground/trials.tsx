import { Anchor, Group, Stack, Text } from '@mantine/core';
import { Link } from 'react-router';
import { runInspection } from '../../contracts/run-inspection.ts';
import { type Task, type TaskStep, tasks } from '../../contracts/tasks.ts';
import { useRead } from '../api/queries.ts';
import { compareUrl, tokensLine } from '../runs/compared.ts';
import { RunCost } from '../runs/run-cost.tsx';
import { TextDiff } from '../ui/diff.tsx';
import { Section } from '../ui/page.tsx';
import { Facts, Status } from '../ui/show.tsx';
import { Loaded } from '../ui/states.tsx';

interface TrialsProps {
  task: Task;
  step: number;
  /** The ids of the runs that were started, the newest first. */
  of: string[];
}

/** Shows the trials' answers at the step, compared with the run that they were forked from. */
export function Trials({ task, step, of: ids }: TrialsProps) {
  const source = useRead(runInspection.step, { params: { id: task.id, step: `${step}` } }, { enabled: ids.length > 0 });
  return (
    <Stack aria-live="polite">
      {ids.map((id, index) => (
        <Section key={id} title={`Trial ${ids.length - index}`}>
          <Loaded query={source} what="Loading the step">
            {(recorded) => <Trial task_id={id} source={task} recorded={recorded} />}
          </Loaded>
        </Section>
      ))}
    </Stack>
  );
}

function Trial({ task_id, source, recorded }: { task_id: string; source: Task; recorded: TaskStep }) {
  const query = useRead(tasks.get, { params: { id: task_id }, query: { include: 'steps' } });
  return (
    <Loaded query={query} what="Loading the trial">
      {(trial) => {
        const answered_step = trial.steps_detail?.find(({ step, ended_at }) => step === recorded.step && ended_at !== null);
        return (
          <Stack gap="xs" className="panel">
            <Facts
              of={{
                Status: <Status of={trial.status} />,
                Model: trial.model ?? 'default',
                Tokens: tokensLine(trial),
                ...(trial.usage.cost !== 0 && { Cost: <RunCost usage={trial.usage} /> }),
              }}
            />
            {trial.error && <Text c="var(--mantine-color-error)">{trial.error}</Text>}
            {answered_step && <Answer before={answerText(recorded)} after={answerText(answered_step)} step={recorded.step} />}
            <Group gap="md">
              <Anchor component={Link} to={`/tasks/${task_id}`}>
                Open the run
              </Anchor>
              <Anchor component={Link} to={compareUrl([source.id, task_id])}>
                Compare the runs
              </Anchor>
            </Group>
          </Stack>
        );
      }}
    </Loaded>
  );
}

function Answer({ before, after, step }: { before: string; after: string; step: number }) {
  const label = `Answer at step ${step}, compared with the run`;
  return (
    <>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      {before === after && <Text>The same.</Text>}
      <TextDiff before={before} after={after} label={label} />
    </>
  );
}

/** Formats the model's text and its tool calls. */
const answerText = ({ output, tool_calls }: TaskStep) =>
  [...(output ? [output] : []), ...tool_calls.map(({ name, arguments: args }) => `→ ${name}(${args})`)].join('\n');

import { Anchor, Stack } from '@mantine/core';
import { Link } from 'react-router';
import type { Task } from '../../contracts/tasks.ts';
import { CopyableId } from '../ui/copy.tsx';
import { Section } from '../ui/page.tsx';
import { Code, Facts } from '../ui/show.tsx';
import { When } from '../ui/time.tsx';
import { Deliveries } from './deliveries.tsx';

export function Details({ task }: { task: Task }) {
  const { forked_from } = task;
  return (
    <Stack>
      <Facts
        of={{
          Task: <CopyableId>{task.id}</CopyableId>,
          Definition: <CopyableId what="the hash of the definition">{task.definition_hash}</CopyableId>,
          Trigger: task.trigger,
          ...(task.scheduled_agent_id && {
            Schedule: (
              <Anchor component={Link} to={`/scheduled-agents/${task.scheduled_agent_id}`} inherit>
                the schedule that started it
              </Anchor>
            ),
          }),
          ...(forked_from && {
            'Forked from': (
              <Anchor component={Link} to={`/tasks/${forked_from.task_id}`} inherit>
                step {forked_from.step} of another run
              </Anchor>
            ),
          }),
          Started: <When at={task.started_at} />,
          Ended: <When at={task.completed_at} />,
        }}
      />
      {task.response !== null && task.response !== undefined && (
        <Section title="Response">
          <Code label="Response">{task.response}</Code>
        </Section>
      )}
      <Section title="Webhook deliveries">
        <Deliveries task_id={task.id} />
      </Section>
    </Stack>
  );
}

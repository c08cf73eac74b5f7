import { Stack } from '@mantine/core';
import type { Task } from '../../contracts/tasks.ts';
import { CopyableId } from '../ui/copy.tsx';
import { Section } from '../ui/page.tsx';
import { Code, Facts } from '../ui/show.tsx';
import { Deliveries } from './deliveries.tsx';

export function Details({ task }: { task: Task }) {
  return (
    <Stack>
      <Facts
        of={{
          Task: <CopyableId>{task.id}</CopyableId>,
          Definition: <CopyableId what="the hash of the definition">{task.definition_hash}</CopyableId>,
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

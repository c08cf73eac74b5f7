import { Anchor, Stack, Text } from '@mantine/core';
import { Link } from 'react-router';
import { type Task, tasks } from '../../contracts/tasks.ts';
import { useList, useRead } from '../api/queries.ts';
import { Section } from '../ui/page.tsx';
import { Status } from '../ui/show.tsx';
import { Empty, Failure } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';
import { listReasons } from './reasons.ts';

const EVERY_MS = 5_000;

/** Lists the runs that wait for a person's decision. */
export function Waiting() {
  const query = useList(tasks.list, { status: 'waiting', limit: 20, count_to: 1 }, { every_ms: EVERY_MS });
  if (query.error && !query.items) return <Failure problem={query.error} retry={() => void query.refetch()} />;
  return (
    <Section title="Waiting for you">
      {query.items?.length === 0 && <Empty>No run is waiting for you.</Empty>}
      <Stack gap="xs">
        {query.items?.map((task) => (
          <WaitingTask key={task.id} task={task} />
        ))}
      </Stack>
    </Section>
  );
}

function WaitingTask({ task }: { task: Task }) {
  const steps = useRead(tasks.steps, { params: { id: task.id } });
  const reasons =
    steps.data &&
    listReasons(
      task,
      steps.data.flatMap(({ tool_calls }) => tool_calls),
    );
  return (
    <div className="panel">
      <Status of="waiting">
        <Anchor component={Link} to={`/tasks/${task.id}`}>
          {task.workflow_title ?? task.agent_name}
        </Anchor>
      </Status>
      <Text>
        {reasons?.join(' ') ?? '…'}{' '}
        <Text span c="dimmed">
          started <When at={task.started_at ?? task.created_at} relative />
        </Text>
      </Text>
    </div>
  );
}

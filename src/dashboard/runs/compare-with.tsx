import { Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { type Task, tasks } from '../../contracts/tasks.ts';
import { useRead } from '../api/queries.ts';
import { Status } from '../ui/show.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';
import { compareUrl, MOST_COMPARED } from './compared.ts';

/** Chooses runs of the same workflow to compare this one with. */
export function CompareWith({ task }: { task: Task }) {
  const navigate = useNavigate();
  const [chosen, setChosen] = useState<string[]>([]);
  const query = useRead(tasks.list, { query: { workflow_id: task.workflow_id, limit: 20, count_to: 1 } });
  return (
    <Loaded query={query} what="Loading runs">
      {({ items }) => {
        const others = items.filter(({ id }) => id !== task.id);
        if (others.length === 0) return <Empty>This workflow has no other run.</Empty>;
        return (
          <Stack>
            <Checkbox.Group label="Runs of the same workflow, newest first" value={chosen} onChange={setChosen}>
              <Stack gap="xs" mt={4}>
                {others.map((other) => (
                  <Checkbox
                    key={other.id}
                    value={other.id}
                    label={<RunLine task={other} />}
                    disabled={chosen.length >= MOST_COMPARED - 1 && !chosen.includes(other.id)}
                  />
                ))}
              </Stack>
            </Checkbox.Group>
            <Group justify="flex-end">
              <Button disabled={chosen.length === 0} onClick={() => navigate(compareUrl([task.id, ...chosen]))}>
                Compare
              </Button>
            </Group>
          </Stack>
        );
      }}
    </Loaded>
  );
}

const RunLine = ({ task: { status, prompt, created_at } }: { task: Task }) => (
  <Group gap="xs" component="span">
    <Status of={status} />
    <Text span className="clip clip-short" title={prompt.slice(0, 500)}>
      {prompt.slice(0, 200)}
    </Text>
    <When at={created_at} />
  </Group>
);

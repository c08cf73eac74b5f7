import { Button, Group, Stack } from '@mantine/core';
import { Link } from 'react-router';
import { FormLink } from '../../ui/form-link.tsx';
import type { Stored } from '../resource.ts';
import { AskingTools } from './asking-tools.tsx';

export function AgentPanel({ record }: { record: Stored }) {
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <FormLink to={`/workflows/new?agent_id=${record.id}`} needs="write">
          New workflow with this agent
        </FormLink>
        <Button variant="default" component={Link} to={`/chat?agent_id=${record.id}`}>
          Chat
        </Button>
        <Button variant="default" component={Link} to={`/memories?agent_id=${record.id}`}>
          Memories
        </Button>
        <Button variant="default" component={Link} to={`/tasks?agent_id=${record.id}`}>
          Runs
        </Button>
      </Group>
      <AskingTools record={record} />
    </Stack>
  );
}

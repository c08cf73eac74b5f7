import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { Facts } from '../../ui/show.tsx';
import { When } from '../../ui/time.tsx';
import { Named } from '../columns.tsx';
import type { Stored } from '../resource.ts';

export function MemoryPanel({ record }: { record: Stored }) {
  return (
    <Facts
      of={{
        Agent: <Named kind="agent" slug="agents" id={record.agent_id} />,
        Scope: record.scope,
        ...(record.workflow_id && { Workflow: <Named kind="workflow" slug="workflows" id={record.workflow_id} /> }),
        ...(record.task_id && {
          'Stored by': (
            <Anchor component={Link} to={`/tasks/${record.task_id}`} inherit>
              a run
            </Anchor>
          ),
        }),
        Changed: <When at={record.updated_at} />,
      }}
    />
  );
}

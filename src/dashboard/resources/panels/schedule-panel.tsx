import { Anchor, Button, Group, Stack } from '@mantine/core';
import { Link } from 'react-router';
import { scheduledAgents } from '../../../contracts/scheduled-agents.ts';
import type { ApiReply } from '../../api/call.ts';
import { useAct, useRead } from '../../api/queries.ts';
import { type Column, ColumnTable } from '../../ui/list.tsx';
import { Section } from '../../ui/page.tsx';
import { Facts, Status } from '../../ui/show.tsx';
import { Empty, Failure, Loaded } from '../../ui/states.tsx';
import { When } from '../../ui/time.tsx';
import { Named } from '../columns.tsx';
import type { Stored } from '../resource.ts';

export function ScheduleActions({ record }: { record: Stored }) {
  const change = useAct(record.enabled ? scheduledAgents.disable : scheduledAgents.enable);
  const trigger = useAct(scheduledAgents.trigger);
  const input = { params: { id: record.id } };
  const problem = change.error ?? trigger.error;
  return (
    <Stack>
      <Facts
        of={{
          State: <Status of={record.enabled ? 'enabled' : 'off'} />,
          Workflow: <Named kind="workflow" slug="workflows" id={record.workflow_id} />,
          'Next run': <When at={record.next_run_at} none="none" />,
          'Last run': <When at={record.last_run_at} none="never" />,
        }}
      />
      <Group>
        <Button loading={trigger.isPending} onClick={() => trigger.mutate(input)}>
          Run now
        </Button>
        <Button variant="default" loading={change.isPending} onClick={() => change.mutate(input)}>
          {record.enabled ? 'Switch off' : 'Switch on'}
        </Button>
      </Group>
      {problem && <Failure problem={problem} />}
      <Fires id={record.id} />
    </Stack>
  );
}

const FIRES: Column<ApiReply<typeof scheduledAgents.runs>['items'][number]>[] = [
  { label: 'Due', show: ({ due_at }) => <When at={due_at} /> },
  { label: 'Outcome', show: ({ outcome }) => <Status of={outcome} /> },
  {
    label: 'Run',
    show: ({ task_id, task_status }) =>
      task_id ? (
        <Anchor component={Link} to={`/tasks/${task_id}`}>
          {task_status ?? 'run'}
        </Anchor>
      ) : (
        '—'
      ),
  },
  { label: 'Detail', show: ({ detail }) => detail ?? '' },
];

function Fires({ id }: { id: string }) {
  const query = useRead(scheduledAgents.runs, { params: { id }, query: { limit: 20 } }, { every_ms: 10_000 });
  return (
    <Section title="History">
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty>Not due yet.</Empty>
          ) : (
            <ColumnTable rows={items} columns={FIRES} label="Due times" keyOf={({ due_at, outcome }) => `${due_at}-${outcome}`} />
          )
        }
      </Loaded>
    </Section>
  );
}

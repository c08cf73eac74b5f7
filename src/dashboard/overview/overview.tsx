import { Anchor, SimpleGrid, Stack, Text } from '@mantine/core';
import { lazy, useState } from 'react';
import { Link } from 'react-router';
import { tasks } from '../../contracts/tasks.ts';
import { TASK_STATUSES } from '../../domain/statuses.ts';
import type { ApiProblem } from '../api/call.ts';
import { useList, useRead } from '../api/queries.ts';
import { Waiting } from '../inbox/waiting.tsx';
import { RunsOverTime } from '../runs/over-time.tsx';
import { taskColumns } from '../runs/task-columns.tsx';
import { useReadiness } from '../shell/readiness.ts';
import { COUNTED_TASKS, formatNumber } from '../ui/figures.ts';
import { ListTable } from '../ui/list.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Status } from '../ui/show.tsx';
import { Empty, Failure, Loading } from '../ui/states.tsx';
import { Today } from './today.tsx';

/** This screen is shown only before the first run, so it is loaded on demand. */
const FirstRun = lazy(() => import('./first-run.tsx'));

export function Overview() {
  const recent = useList(tasks.list, { limit: 10, count_to: COUNTED_TASKS });
  // This is decided once per visit: the first run is followed here, and the next visit shows the overview.
  const [is_first, setFirst] = useState<boolean>();
  if (is_first === undefined && recent.items) setFirst(recent.items.length === 0);
  return (
    <Page title="Overview">
      {is_first ? <FirstRun /> : <Known recent={recent} />}
      <Section title="Health">
        <Health />
      </Section>
    </Page>
  );
}

type Recent = ReturnType<typeof useList<typeof tasks.list>>;

function Known({ recent }: { recent: Recent }) {
  return (
    <>
      <Counts />
      <Today />
      <RunsOverTime />
      <Waiting />
      <Section
        title="Recent tasks"
        actions={
          <Anchor component={Link} to="/tasks" size="sm">
            All tasks
          </Anchor>
        }
      >
        <ListTable
          query={{ ...recent, hasNextPage: false }}
          columns={taskColumns}
          label="recent tasks"
          empty={<Empty>No tasks yet.</Empty>}
        />
      </Section>
    </>
  );
}

const MOST_COUNTED = 10_000;

function Counts() {
  return (
    <SimpleGrid cols={{ base: 3, sm: 6 }} spacing="xs">
      {TASK_STATUSES.map((status) => (
        <Count key={status} status={status} />
      ))}
    </SimpleGrid>
  );
}

function Count({ status }: { status: (typeof TASK_STATUSES)[number] }) {
  const query = useRead(tasks.list, { query: { status, limit: 1, count_to: MOST_COUNTED } });
  const total = query.data?.total;
  return (
    <Anchor component={Link} to={`/tasks?status=${status}`} c="inherit" underline="never" className="panel">
      <Text fz="1.4rem" fw={600} lh={1.2}>
        {total === undefined ? (query.error ? '?' : '…') : formatNumber(total)}
        {total === MOST_COUNTED && '+'}
      </Text>
      <Status of={status} />
    </Anchor>
  );
}

const NAMES: Record<string, string> = {
  database: 'Database',
  engine: 'Engine (Temporal)',
  'engine setup': 'Engine setup',
  workers: 'Workers',
  bus: 'Event bus',
  migrations: 'Migrations',
  tools: 'Tools',
};

function Health() {
  const query = useReadiness();
  if (query.error) return <Failure problem={query.error as ApiProblem} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading />;
  const unconfined = query.data.tool_isolation === 'process';
  return (
    <Stack gap={4} className="panel">
      {Object.entries(query.data.checks).map(([name, { ok, detail }]) => (
        <div key={name}>
          <Status of={ok ? 'completed' : 'failed'} tone={ok && !(name === 'tools' && unconfined) ? 'good' : 'bad'}>
            <strong>{NAMES[name] ?? name}</strong>
          </Status>{' '}
          {detail}
        </div>
      ))}
    </Stack>
  );
}

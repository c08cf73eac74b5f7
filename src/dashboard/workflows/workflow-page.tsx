import { Anchor, Button, Group, Stack, Tabs, Text } from '@mantine/core';
import { Link, useLocation, useParams } from 'react-router';
import { tasks } from '../../contracts/tasks.ts';
import { type Workflow, workflows } from '../../contracts/workflows.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { useList, useRead } from '../api/queries.ts';
import { WORKFLOWS } from '../resources/catalog-runs.tsx';
import { Named } from '../resources/columns.tsx';
import { EditForm } from '../resources/edit.tsx';
import { NeedsAlert, WarningsAlert } from '../resources/needs.tsx';
import { Export, Remove } from '../resources/pages.tsx';
import type { Stored } from '../resources/resource.ts';
import { RunView } from '../runs/run-view.tsx';
import { taskColumns } from '../runs/task-columns.tsx';
import { CopyableId } from '../ui/copy.tsx';
import { COUNTED_TASKS, formatCount, formatNumber } from '../ui/figures.ts';
import { ListTable } from '../ui/list.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Facts, Status } from '../ui/show.tsx';
import { Empty, Failure, Loaded } from '../ui/states.tsx';
import { useTab } from '../ui/tabs.ts';
import { When } from '../ui/time.tsx';
import { PromptForm } from './prompt-form.tsx';
import { Versions } from './versions.tsx';

export default function WorkflowPage() {
  const { id = '' } = useParams();
  const query = useRead(workflows.get, { params: { id } });
  const workflow = query.data;
  return (
    <Page
      title={workflow ? (workflow.title ?? 'Untitled workflow') : 'Workflow'}
      parent={{ to: '/workflows', title: 'Workflows' }}
      actions={
        workflow && (
          <>
            <Export resource={WORKFLOWS} record={workflow} />
            <Remove resource={WORKFLOWS} record={workflow} to="/workflows" />
          </>
        )
      }
    >
      <Loaded query={query} what="Loading the workflow">
        {(data) => <WorkflowView key={data.id} workflow={data} />}
      </Loaded>
    </Page>
  );
}

function WorkflowView({ workflow }: { workflow: Workflow }) {
  const tab = useTab('tab', ['run', 'history', 'versions', 'settings']);
  return (
    <Stack>
      <Facts
        of={{
          Status: <Status of={workflow.status} />,
          Agent: <Named kind="agent" slug="agents" id={workflow.agent_id} />,
          Owner: workflow.owner,
          Runs: formatNumber(workflow.task_count),
          'Last run': <When at={workflow.last_task_at} none="never" />,
          ID: <CopyableId>{workflow.id}</CopyableId>,
        }}
      />
      <NeedsAlert noun="workflow" needs={(workflow as Stored).needs} />
      <WarningsAlert warnings={(workflow as Stored).warnings} />
      <Tabs {...tab} keepMounted={false}>
        <Tabs.List aria-label="Views of the workflow">
          <Tabs.Tab value="run">Run</Tabs.Tab>
          <Tabs.Tab value="history">History</Tabs.Tab>
          <Tabs.Tab value="versions">Versions</Tabs.Tab>
          <Tabs.Tab value="settings">Settings</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="run" pt="md">
          <Run workflow={workflow} />
        </Tabs.Panel>
        <Tabs.Panel value="history" pt="md">
          <History id={workflow.id} />
        </Tabs.Panel>
        <Tabs.Panel value="versions" pt="md">
          <Versions workflow_id={workflow.id} />
        </Tabs.Panel>
        <Tabs.Panel value="settings" pt="md">
          <EditForm resource={WORKFLOWS} id={workflow.id} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

function Run({ workflow }: { workflow: Workflow }) {
  const { state } = useLocation() as { state: { prompt?: string } | null };
  const last = useRead(tasks.list, { query: { workflow_id: workflow.id, limit: 20, count_to: 1 } });
  // If several runs are open, the one in progress is shown; the others are queued.
  const items = last.data?.items ?? [];
  const task = items.find(({ status }) => status === 'running' || status === 'waiting') ?? items[0];
  const queued = items.filter(({ status }) => status === 'pending').length;
  return (
    <Stack>
      <PromptForm workflow={workflow} initial={state?.prompt ?? ''} />
      {queued > 0 && task?.status !== 'pending' && (
        <Group gap="xs">
          <Text>{formatCount(queued, 'more prompt')} queued.</Text>
          <Anchor component={Link} to={`/tasks?workflow_id=${workflow.id}&status=pending`}>
            Show queue
          </Anchor>
        </Group>
      )}
      <Failure problem={last.error} retry={() => void last.refetch()} />
      {last.data && !task && <Empty>No runs yet. Send a prompt to start one.</Empty>}
      {task && (
        <Section
          title={isTerminal(task.status) ? 'Last run' : 'Run in progress'}
          actions={
            <Button variant="default" component={Link} to={`/tasks/${task.id}`}>
              Open run page
            </Button>
          }
        >
          <RunView key={task.id} task={task} />
        </Section>
      )}
    </Stack>
  );
}

function History({ id }: { id: string }) {
  const query = useList(tasks.list, { workflow_id: id, limit: 50, count_to: COUNTED_TASKS });
  return (
    <ListTable
      query={query}
      columns={taskColumns}
      label="runs of this workflow"
      empty={<Empty>No runs yet. Send a prompt on the Run tab.</Empty>}
    />
  );
}

import { Anchor, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import { agents } from '../../contracts/agents.ts';
import { SAMPLE } from '../../contracts/sample.ts';
import { tasks } from '../../contracts/tasks.ts';
import { type WorkflowSummary, workflows } from '../../contracts/workflows.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { useRead } from '../api/queries.ts';
import { Named } from '../resources/columns.tsx';
import { RunView } from '../runs/run-view.tsx';
import { FormLink } from '../ui/form-link.tsx';
import { Section } from '../ui/page.tsx';
import { Facts } from '../ui/show.tsx';
import { Loaded } from '../ui/states.tsx';
import { PromptForm } from '../workflows/prompt-form.tsx';

const MOST = 1_000;

/** The overview before the first run: a prompt for the sample workflow, its live run, and a link to create an agent. */
export default function FirstRun() {
  const query = useRead(workflows.list, { query: { limit: MOST } });
  const [task_id, setTask] = useState<string | null>(null);
  const [first, setFirst] = useState<WorkflowSummary>();
  return (
    <Loaded query={query} what="Loading the workflows">
      {({ items }) => {
        const workflow = first ?? items.find(({ title }) => title === SAMPLE.workflow) ?? items.find(isUsable);
        const showRun = (id: string) => {
          setTask(id);
          setFirst(workflow);
        };
        return (
          <Stack gap="lg">
            {workflow && <Try workflow={workflow} sent={showRun} />}
            {task_id && <Live id={task_id} />}
            <MakeYourOwn first={!workflow} />
          </Stack>
        );
      }}
    </Loaded>
  );
}

const isUsable = ({ status }: WorkflowSummary) => status !== 'inactive';

function Try({ workflow, sent }: { workflow: WorkflowSummary; sent(task_id: string): void }) {
  const is_sample = workflow.title === SAMPLE.workflow;
  return (
    <Section title="Your first run">
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <PromptForm workflow={workflow} initial={is_sample ? SAMPLE.prompt : ''} label="Run" plain onSent={sent} />
        <About workflow={workflow} is_sample={is_sample} />
      </SimpleGrid>
    </Section>
  );
}

function About({ workflow, is_sample }: { workflow: WorkflowSummary; is_sample: boolean }) {
  const agent = useRead(agents.get, { params: { id: workflow.agent_id } });
  return (
    <Stack gap="xs" className="panel">
      <Text fw={600}>
        <Anchor component={Link} to={`/workflows/${workflow.id}`} inherit>
          {workflow.title ?? 'Untitled workflow'}
        </Anchor>
      </Text>
      {is_sample && (
        <Text>
          An agent with one tool on the demo model, a script that calls tools but does not understand text. It needs no API key.
          Change or delete any part: the sample is not created again.
        </Text>
      )}
      <Facts
        of={{
          Agent: <Named kind="agent" slug="agents" id={workflow.agent_id} />,
          ...(agent.data?.provider_id && { Model: <Named kind="provider" slug="providers" id={agent.data.provider_id} /> }),
          ...(agent.data && agent.data.custom_tool_ids.length > 0 && { Tools: <Tools ids={agent.data.custom_tool_ids} /> }),
        }}
      />
    </Stack>
  );
}

const Tools = ({ ids }: { ids: string[] }) => (
  <Group gap="xs">
    {ids.map((id) => (
      <Named key={id} kind="custom_tool" slug="custom-tools" id={id} />
    ))}
  </Group>
);

function Live({ id }: { id: string }) {
  const query = useRead(tasks.get, { params: { id } });
  return (
    <Loaded query={query} what="Loading the run">
      {(task) => (
        <Section title={isTerminal(task.status) ? 'Run' : 'Live run'}>
          <RunView key={id} task={task} />
        </Section>
      )}
    </Loaded>
  );
}

function MakeYourOwn({ first }: { first: boolean }) {
  return (
    <Section title={first ? 'Make your first agent' : 'Make your own'}>
      <Group className="panel" justify="space-between">
        <Text>Choose a model, tools and instructions, and send a prompt, all on one page.</Text>
        <FormLink to="/make" needs="write" size="sm" variant={first ? 'filled' : 'default'}>
          Make your own
        </FormLink>
      </Group>
    </Section>
  );
}

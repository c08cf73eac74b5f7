import { Button, Group, Radio, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { AGENT_RESTORES, type AgentRestore, type Restored, versions } from '../../contracts/versions.ts';
import { useAct } from '../api/queries.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { Failure } from '../ui/states.tsx';
import { Changes } from './changes.tsx';

const AGENT: Record<AgentRestore, { label: string; description: string }> = {
  keep: { label: 'Keep it', description: 'The agent stays as it is now.' },
  change: { label: 'Set it back', description: 'The agent is set back for everybody who uses it.' },
  copy: { label: 'Make a copy', description: 'A new agent as it was, for this workflow only.' },
};

interface RestoreProps {
  workflow_id: string;
  number: number;
}

/** Sets the workflow back to a version. */
export function RestoreButton(props: RestoreProps) {
  return (
    <DialogButton label="Restore" title={`Restore version ${props.number}`} needs={versions.restore.access}>
      {(close) => <RestoreDialog {...props} close={close} />}
    </DialogButton>
  );
}

const isAboutAgent = (code: string | undefined) => code === 'agent_differs' || code === 'agent_missing';

/** Asks about the agent only if it has changed since the version. */
function RestoreDialog({ workflow_id, number, close }: RestoreProps & { close(): void }) {
  const restore = useAct(versions.restore);
  const [agent, setAgent] = useState<AgentRestore>('copy');
  const asks = isAboutAgent(restore.error?.code);
  const [asked, setAsked] = useState(false);
  const act = () =>
    restore.mutate(
      { params: { id: workflow_id, number }, body: asked ? { agent } : {} },
      {
        onSuccess: (restored) => {
          if (restored.exact) close();
          notifications.show({ message: `Version ${number} was restored.`, color: 'green' });
        },
        onError: ({ code }) => setAsked((before) => before || isAboutAgent(code)),
      },
    );
  if (restore.data) return <Outcome restored={restore.data} number={number} close={close} />;
  return (
    <Stack>
      <Text>
        Sets the fields of this workflow as they were. Skills, guardrails, tools, MCP servers, knowledge and the provider are used
        as they are now.
      </Text>
      <Failure problem={asks ? null : restore.error} />
      {asks && <Text role="alert">{restore.error?.message.split('. ')[0]}.</Text>}
      {asked && (
        <Radio.Group label="The agent" value={agent} onChange={(value) => setAgent(value as AgentRestore)}>
          <Stack gap={6} mt={4}>
            {AGENT_RESTORES.map((choice) => (
              <Radio key={choice} value={choice} {...AGENT[choice]} />
            ))}
          </Stack>
        </Radio.Group>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={close} data-autofocus>
          Cancel
        </Button>
        <Button loading={restore.isPending} data-needs={restore.needs} onClick={act}>
          Restore
        </Button>
      </Group>
    </Stack>
  );
}

function Outcome({ restored: { differences }, number, close }: { restored: Restored; number: number; close(): void }) {
  return (
    <Stack>
      <Text>
        Version {number} was restored. Compared with its runs, the next run differs in this, because it belongs to the agent or
        another shared resource:
      </Text>
      <Changes of={differences} />
      <Group justify="flex-end">
        <Button onClick={close} data-autofocus>
          Close
        </Button>
      </Group>
    </Stack>
  );
}

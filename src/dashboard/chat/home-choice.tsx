import { Group, SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import { useSearchParams } from 'react-router';
import { threads } from '../../contracts/threads.ts';
import { useRead } from '../api/queries.ts';
import { Picker } from '../resources/pickers.tsx';
import type { Home } from './outbox.ts';

const KINDS = [
  { value: 'agent', label: 'Agent' },
  { value: 'workflow', label: 'Workflow' },
];

/** The agent or workflow of a new conversation: what the address names, what was chosen, or else the agent of the newest conversation. */
export function useHome() {
  const [query] = useSearchParams();
  const [chosen, setChosen] = useState<Home | null>(() => fromAddress(query));
  const newest = useRead(threads.list, { query: { limit: 1 } }, { enabled: chosen === null });
  const agent_id = newest.data?.items[0]?.agent_id;
  return [chosen ?? (agent_id ? { agent_id } : null), setChosen] as const;
}

function fromAddress(query: URLSearchParams): Home | null {
  const agent_id = query.get('agent_id');
  const workflow_id = query.get('workflow_id');
  if (workflow_id) return { workflow_id };
  return agent_id ? { agent_id } : null;
}

/** Chooses the agent or the workflow of a new conversation. */
export function HomeChoice({ home, onChange }: { home: Home | null; onChange(home: Home): void }) {
  const [kind, setKind] = useState(home && 'workflow_id' in home ? 'workflow' : 'agent');
  return (
    <Group gap="xs" align="end">
      <SegmentedControl data={KINDS} value={kind} onChange={setKind} size="xs" aria-label="Talk to" />
      {kind === 'agent' ? (
        <Picker
          key="agent"
          kind="agent"
          size="xs"
          aria-label="Agent"
          value={home && 'agent_id' in home ? home.agent_id : null}
          onChange={(id) => id && onChange({ agent_id: id })}
        />
      ) : (
        <Picker
          key="workflow"
          kind="workflow"
          size="xs"
          aria-label="Workflow"
          value={home && 'workflow_id' in home ? home.workflow_id : null}
          onChange={(id) => id && onChange({ workflow_id: id })}
        />
      )}
    </Group>
  );
}

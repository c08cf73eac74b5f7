import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { AgentCreate, agents } from '../../contracts/agents.ts';
import type { ApiProblem } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { AGENTS } from '../resources/catalog-agents.tsx';
import { WORKFLOWS } from '../resources/catalog-runs.tsx';
import { listChangeableFields, type Values } from '../resources/fields.ts';
import type { EditableScreen } from '../resources/resource.ts';
import { toControls, toWire } from '../resources/values.ts';
import { saveOver, type Version } from '../resources/versions.ts';
import { pickValues, type SaveLine } from './save-lines.ts';

/** The choice between changing the agent itself and changing a copy for this workflow. */
export type AgentChoice = 'change' | 'copy';

/** The stored records that the differences are shown against. */
export interface State {
  agent: Version;
  workflow: Version;
  /** Fields that someone else changed while the user looked at them. */
  conflict: string[] | null;
  /** The number of this reading of the records. */
  read: number;
}

interface Order {
  state: State;
  lines: SaveLine[];
  agent: AgentChoice;
}

/**
 * Saves over the state that was shown. If someone has changed the same fields since, nothing is saved and the newer state is
 * shown.
 */
export function useSaving(workflow_id: string) {
  const { tagged, call } = useClient();
  const [attempt, setAttempt] = useState<{ read: number; conflict: string[] | null }>({ read: 1, conflict: null });
  const copy = useRef({ body: '', key: '' });
  const read = async (screen: EditableScreen, id: string): Promise<Version> => {
    return tagged(screen.endpoints.get, { params: { id } });
  };
  const state = useQuery<State, ApiProblem>({
    queryKey: ['saving a trial', workflow_id, attempt],
    // The shown state must stay the base of the comparison until it is saved.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    async queryFn() {
      const workflow = await read(WORKFLOWS, workflow_id);
      return { workflow, agent: await read(AGENTS, workflow.value.agent_id as string), ...attempt };
    },
  });

  /** Saves the changes. Returns the names of the fields that someone else has changed; if there are none, it is saved. */
  async function saveChanges(screen: EditableScreen, base: Version, changes: Values): Promise<string[]> {
    const fields = listChangeableFields(screen.create, screen.update, screen.overrides);
    const values = { ...toWire(fields, toControls(fields, base.value)).values, ...changes };
    const params = { id: base.value.id as string };
    const ports = {
      save: (body: Values, if_match: string | null) => tagged(screen.endpoints.update, { params, body, if_match }),
      read: () => read(screen, params.id),
    };
    const outcome = await saveOver({ fields, base, values, ports });
    return 'conflict' in outcome ? outcome.conflict.fields.map(({ label }) => label) : [];
  }

  /** Copies the agent. A repetition with the same values returns the first copy. */
  async function copyAgent(agent: Values, changes: Values): Promise<string> {
    const copied_fields = Object.keys(AgentCreate.shape).map((name) => [name, agent[name]]);
    const body = {
      ...Object.fromEntries(copied_fields),
      ...changes,
      name: `${String(agent.name).slice(0, 180)} (from playground)`,
    };
    const text = JSON.stringify(body);
    if (copy.current.body !== text) copy.current = { body: text, key: crypto.randomUUID() };
    return (await call(agents.create, { body, idempotency_key: copy.current.key })).id;
  }

  return {
    state,
    async save({ state: { agent, workflow }, lines, agent: choice }: Order): Promise<'saved' | 'conflict'> {
      const [for_agent, for_workflow] = [pickValues(lines, 'agent'), pickValues(lines, 'workflow')];
      const changes_agent = Object.keys(for_agent).length > 0;
      const agent_change = changes_agent && choice === 'copy' ? { agent_id: await copyAgent(agent.value, for_agent) } : {};
      let conflict = changes_agent && choice === 'change' ? await saveChanges(AGENTS, agent, for_agent) : [];
      // Saving the workflow records the version, even if only its agent has changed.
      if (conflict.length === 0) conflict = await saveChanges(WORKFLOWS, workflow, { ...for_workflow, ...agent_change });
      if (conflict.length === 0) return 'saved';
      setAttempt(({ read: reading }) => ({ read: reading + 1, conflict }));
      return 'conflict';
    },
  };
}

import { Alert, Anchor, Button, Group, Radio, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import type { ChangeableFields } from '../../contracts/fork-changes.ts';
import { runInspection } from '../../contracts/run-inspection.ts';
import { type Task, tasks } from '../../contracts/tasks.ts';
import type { ApiProblem } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { useWork } from '../api/queries.ts';
import type { Values } from '../resources/fields.ts';
import { toRunInput } from '../runs/run-figures.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { Empty, Failure, Loaded } from '../ui/states.tsx';
import { LineChoice } from './line-choice.tsx';
import { type SaveLine, saveLines } from './save-lines.ts';
import { type AgentChoice, type State, useSaving } from './use-saving.ts';

interface SaveProps {
  task: Task;
  /** The values of the fields that were tried. */
  draft: Values;
  onSaved(): void;
}

/** Writes the draft's changes to the workflow and its agent, after showing the differences. */
export function SaveButton(props: SaveProps) {
  return (
    <DialogButton label="Save as new version" title="Save as a new version of the workflow" size="lg" needs="write">
      {(close) => <SaveDialog {...props} close={close} />}
    </DialogButton>
  );
}

function SaveDialog({ task, draft, onSaved: saved, close }: SaveProps & { close(): void }) {
  const origin = useOrigin(task);
  const saving = useSaving(task.workflow_id);
  return (
    <Loaded query={origin} what="Loading the run">
      {(from) => (
        <Loaded query={saving.state} what="Loading the workflow">
          {(state) => {
            const stored = { agent: state.agent.value, workflow: state.workflow.value };
            const lines = saveLines(stored, { origin: from, draft });
            return <Choice key={state.read} {...{ task, lines, state, onSaved: saved, close }} save={saving.save} />;
          }}
        </Loaded>
      )}
    </Loaded>
  );
}

/** Reads the first of the runs, if this one was forked from another: its changes are saved too. */
function useOrigin(task: Task) {
  const { call } = useClient();
  return useQuery<ChangeableFields, ApiProblem>({
    queryKey: ['origin of the changes', task.id],
    async queryFn() {
      let first = task;
      while (first.forked_from) first = await call(tasks.get, toRunInput(first.forked_from.task_id));
      return (await call(runInspection.request, { params: { id: first.id, step: '1' } })).changeable;
    },
  });
}

const AGENT: Record<AgentChoice, { label: string; description: string }> = {
  change: { label: 'Change it', description: 'Everybody who uses the agent gets the change.' },
  copy: { label: 'Make a copy', description: 'A new agent with the change, for this workflow only.' },
};

interface ChoiceProps {
  task: Task;
  lines: SaveLine[];
  state: State;
  onSaved(): void;
  close(): void;
  save: ReturnType<typeof useSaving>['save'];
}

function Choice({ task, lines, state, onSaved: saved, close, save }: ChoiceProps) {
  const [left_out, setLeftOut] = useState<string[]>([]);
  const [agent, setAgent] = useState<AgentChoice>('change');
  const chosen_lines = lines.filter(({ name }) => !left_out.includes(name));
  const work = useWork(() => save({ state, lines: chosen_lines, agent }), { needs: 'write' });
  const act = () => work.mutate(undefined, { onSuccess: (outcome) => outcome === 'saved' && saved() });
  if (work.data === 'saved') return <Saved task={task} close={close} />;
  return (
    <Stack>
      {state.conflict && <ChangedMeanwhile fields={state.conflict} />}
      <Text>Messages are not saved: they belong to the run. The next run of the workflow uses what is saved.</Text>
      {lines.length === 0 && <Empty>The workflow has all of these values already. Change a field first.</Empty>}
      {lines.map((line) => (
        <LineChoice
          key={line.name}
          line={line}
          checked={!left_out.includes(line.name)}
          set={(on) => setLeftOut((before) => (on ? before.filter((name) => name !== line.name) : [...before, line.name]))}
        />
      ))}
      {chosen_lines.some(({ place }) => place === 'agent') && (
        <Radio.Group
          label={`The agent ${state.agent.value.name}`}
          value={agent}
          onChange={(value) => setAgent(value as AgentChoice)}
        >
          <Stack gap={6} mt={4}>
            {(['change', 'copy'] as const).map((choice) => (
              <Radio key={choice} value={choice} {...AGENT[choice]} />
            ))}
          </Stack>
        </Radio.Group>
      )}
      <Failure problem={work.error} />
      <Group justify="flex-end">
        <Button variant="default" onClick={close} data-autofocus>
          Cancel
        </Button>
        <Button disabled={chosen_lines.length === 0} loading={work.isPending} data-needs={work.needs} onClick={act}>
          Save
        </Button>
      </Group>
    </Stack>
  );
}

const ChangedMeanwhile = ({ fields }: { fields: string[] }) => (
  <Alert color="yellow" variant="outline" role="alert" title="Not saved: someone else changed the same fields">
    Changed meanwhile: {fields.join(', ')}. Compare again; saving now replaces the newer values.
  </Alert>
);

function Saved({ task: { workflow_id }, close }: { task: Task; close(): void }) {
  return (
    <Stack>
      <Text role="status">Saved. The next run of the workflow uses it.</Text>
      <Group justify="flex-end">
        <Anchor component={Link} to={`/workflows/${workflow_id}?tab=versions`}>
          Versions of the workflow
        </Anchor>
        <Button onClick={close} data-autofocus>
          Close
        </Button>
      </Group>
    </Stack>
  );
}

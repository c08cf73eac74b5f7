import { Button, Fieldset, Group, Radio, Stack, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import type { StepRequest } from '../../contracts/run-inspection.ts';
import { type Task, tasks } from '../../contracts/tasks.ts';
import { useAct } from '../api/queries.ts';
import { FieldControl } from '../resources/controls.tsx';
import { EFFECT_NOTES } from '../runs/fork.tsx';
import { Failure } from '../ui/states.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';
import {
  buildFork,
  createDraft,
  draftValues,
  listFieldErrors,
  listFields,
  TRIAL_EFFECTS,
  type TrialDraft,
  withControl,
} from './draft.ts';
import { Messages } from './messages.tsx';
import { SaveButton } from './save.tsx';
import { Trials } from './trials.tsx';

interface BenchProps {
  task: Task;
  request: StepRequest;
}

/** Shows the form for trials of a step, and the trials made with it. */
export function Bench({ task, request }: BenchProps) {
  const [draft, setDraft] = useState(() => createDraft(request));
  const [trials, setTrials] = useState<string[]>([]);
  const fork = useAct(tasks.fork);
  const body = buildFork(request, draft);
  const content = JSON.stringify({ prompt: body.prompt, changes: body.changes });
  const [tried, setTried] = useState(content);
  useUnsaved(content !== tried && !fork.isPending);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    fork.mutate(
      { params: { id: task.id }, body },
      {
        onSuccess: ({ task_id }) => {
          setTried(content);
          setTrials((before) => [task_id, ...before]);
        },
      },
    );
  };
  /** Marks the draft as saved. Messages are never saved, so leaving still loses them. */
  const markSaved = () => {
    if (body.prompt === undefined && body.changes?.messages === undefined) setTried(content);
  };
  return (
    <Stack>
      <form onSubmit={submit}>
        <Stack maw="46rem">
          <Controls request={request} draft={draft} change={setDraft} faults={listFieldErrors(fork.error?.errors ?? [])} />
          <Failure problem={fork.error} />
          <Group gap="xs">
            <Button type="submit" loading={fork.isPending} data-needs={fork.needs}>
              Run
            </Button>
            <SaveButton task={task} draft={draftValues(request, draft)} onSaved={markSaved} />
          </Group>
        </Stack>
      </form>
      <Trials task={task} step={request.step} of={trials} />
    </Stack>
  );
}

interface ControlsProps {
  request: StepRequest;
  draft: TrialDraft;
  change(draft: TrialDraft): void;
  faults: { path: string; message: string }[];
}

function Controls({ request, draft, change, faults }: ControlsProps) {
  return (
    <>
      <Fieldset legend="What the model gets">
        <Stack gap="sm">
          {listFields(request).map((field) => (
            <FieldControl
              key={field.name}
              field={field}
              values={draft.controls}
              path={field.name}
              faults={faults}
              onChange={(value) => change(withControl(draft, field.name, value))}
            />
          ))}
        </Stack>
      </Fieldset>
      <Messages of={request.messages} edits={draft.edits} change={(edits) => change({ ...draft, edits })} />
      {request.step > 1 && (
        <Textarea
          label="Message before the step (optional)"
          autosize
          minRows={2}
          value={draft.prompt}
          onChange={(event) => change({ ...draft, prompt: event.currentTarget.value })}
        />
      )}
      <Radio.Group
        label="Tool calls"
        value={draft.effects}
        onChange={(value) => change({ ...draft, effects: value as TrialDraft['effects'] })}
      >
        <Stack gap={6} mt={4}>
          {TRIAL_EFFECTS.map((name) => (
            <Radio key={name} value={name} label={name} description={EFFECT_NOTES[name]} />
          ))}
        </Stack>
      </Radio.Group>
    </>
  );
}

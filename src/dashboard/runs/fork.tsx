import { Button, Group, NumberInput, Radio, Stack, Text, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useNavigate } from 'react-router';
import { FORK_EFFECTS } from '../../contracts/forks.ts';
import { type Task, tasks } from '../../contracts/tasks.ts';
import { useAct } from '../api/queries.ts';
import { Failure } from '../ui/states.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';

export const EFFECT_NOTES = {
  recorded: 'A call that was made before returns its recorded result. Any other call that writes is refused.',
  stub: 'No tool is called.',
  live: 'Every tool call is executed again.',
};

/** Starts a run of the same workflow from one of the steps of this run. */
export function ForkForm({ task, step }: { task: Task; step: number }) {
  const navigate = useNavigate();
  const fork = useAct(tasks.fork);
  const [from_step, setStep] = useState<number | string>(step);
  const [prompt, setPrompt] = useState('');
  const [effects, setEffects] = useState<(typeof FORK_EFFECTS)[number]>('recorded');
  useUnsaved(prompt.trim() !== '' && !fork.isPending && !fork.isSuccess);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body = { from_step: Number(from_step), effects, ...(prompt.trim() && { prompt }) };
    fork.mutate({ params: { id: task.id }, body }, { onSuccess: ({ task_id }) => navigate(`/tasks/${task_id}`) });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text>Earlier steps are copied at no cost. This step and all later ones run again.</Text>
        <NumberInput label="From step" min={1} max={task.steps} value={from_step} onChange={setStep} required data-autofocus />
        <Textarea
          label="Message before the step (optional)"
          description="At step 1 it replaces the prompt."
          autosize
          minRows={2}
          value={prompt}
          onChange={(event) => setPrompt(event.currentTarget.value)}
        />
        <Radio.Group label="Tool calls" value={effects} onChange={(value) => setEffects(value as typeof effects)}>
          <Stack gap={6} mt={4}>
            {FORK_EFFECTS.map((name) => (
              <Radio key={name} value={name} label={name} description={EFFECT_NOTES[name]} />
            ))}
          </Stack>
        </Radio.Group>
        <Failure problem={fork.error} />
        <Group justify="flex-end">
          <Button type="submit" loading={fork.isPending} data-needs={fork.needs}>
            Fork the run
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

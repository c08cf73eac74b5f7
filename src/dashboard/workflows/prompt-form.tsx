import { Button, Group, Kbd, NativeSelect, Stack, Text, Textarea } from '@mantine/core';
import { type FormEvent, type KeyboardEvent, useState } from 'react';
import { ON_BUSY, REASONING_EFFORTS, type Workflow, workflows } from '../../contracts/workflows.ts';
import { useAct } from '../api/queries.ts';
import { Failure } from '../ui/states.tsx';

const BUSY = { enqueue: 'wait its turn', reject: 'refuse it', interrupt: 'halt that run' };

export function PromptForm({ workflow }: { workflow: Workflow }) {
  const send = useAct(workflows.prompt);
  const [prompt, setPrompt] = useState('');
  const [effort, setEffort] = useState('');
  const [busy, setBusy] = useState('');
  const running = workflow.status === 'running' || workflow.status === 'waiting';
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (!prompt.trim()) return;
    const body = { prompt, ...(effort && { reasoning_effort: effort as 'low' }), ...(busy && { on_busy: busy as 'enqueue' }) };
    send.mutate({ params: { id: workflow.id }, body }, { onSuccess: () => setPrompt('') });
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
  };
  if (workflow.status === 'inactive')
    return <Text>This workflow is switched off. Switch it to active in its settings to send prompts.</Text>;
  return (
    <form onSubmit={submit}>
      <Stack gap="xs">
        <Textarea
          label="Prompt"
          autosize
          minRows={2}
          maxRows={16}
          value={prompt}
          onChange={(event) => setPrompt(event.currentTarget.value)}
          onKeyDown={onKey}
          error={send.error?.errors.find(({ path }) => path === 'prompt')?.message}
        />
        <Group align="end" gap="sm">
          <Button type="submit" loading={send.isPending} disabled={!prompt.trim()}>
            Send
          </Button>
          <NativeSelect
            label="Effort"
            size="xs"
            value={effort}
            onChange={(event) => setEffort(event.currentTarget.value)}
            data={[{ value: '', label: "the workflow's" }, ...REASONING_EFFORTS]}
          />
          {running && (
            <NativeSelect
              label="A run is under way"
              size="xs"
              value={busy}
              onChange={(event) => setBusy(event.currentTarget.value)}
              data={[{ value: '', label: BUSY[workflow.on_busy] }, ...ON_BUSY.map((value) => ({ value, label: BUSY[value] }))]}
            />
          )}
          <Text size="xs" c="dimmed" visibleFrom="sm">
            <Kbd>Ctrl</Kbd> + <Kbd>Enter</Kbd> sends
          </Text>
        </Group>
        {send.error && <Failure problem={send.error} />}
      </Stack>
    </form>
  );
}

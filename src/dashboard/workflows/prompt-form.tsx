import { Button, Group, Kbd, NativeSelect, Stack, Text, Textarea } from '@mantine/core';
import { type ClipboardEvent, type FormEvent, type KeyboardEvent, useState } from 'react';
import type { Attachment } from '../../contracts/attachments.ts';
import { ON_BUSY } from '../../contracts/lanes.ts';
import { REASONING_EFFORTS, type Workflow, workflows } from '../../contracts/workflows.ts';
import { requestUrl } from '../api/call.ts';
import { useRefusal } from '../api/may.ts';
import { useAct } from '../api/queries.ts';
import { toPromptBody } from '../runs/resent.ts';
import { DraftNotice, useDraft, useKeptDraft } from '../ui/draft.tsx';
import { Code } from '../ui/show.tsx';
import { Failure } from '../ui/states.tsx';
import { isUnsent } from '../ui/unsaved.tsx';
import { PromptFiles, usePromptFiles } from './prompt-files.tsx';

const BUSY = {
  enqueue: 'queue the prompt',
  reject: 'refuse the prompt',
  interrupt: 'halt the run',
  steer: 'let the run read it',
};

const NO_FILES: readonly Attachment[] = [];

interface PromptFormProps {
  workflow: Pick<Workflow, 'id' | 'status' | 'on_busy'>;
  /** The initial text of the prompt. */
  initial?: string;
  /** The files that are attached at first. */
  files?: readonly Attachment[];
  /** The label of the button. */
  label?: string;
  /** Hides the files and the settings that apply to one prompt. */
  plain?: boolean;
  /** The place whose draft the form keeps; by default, that of the workflow's prompt. */
  place?: string;
  onSent?(task_id: string): void;
}

export function PromptForm({
  workflow,
  initial = '',
  files = NO_FILES,
  label = 'Send',
  plain = false,
  place = `prompt:${workflow.id}`,
  onSent: sent,
}: PromptFormProps) {
  const send = useAct(workflows.prompt);
  const refusal = useRefusal(send.needs);
  const draft = useDraft<string>(place);
  const [prompt, setPrompt] = useState(draft.restored?.typed ?? initial);
  const prompt_files = usePromptFiles(files);
  const has_files = prompt_files.files.some((file) => !files.includes(file));
  const typed = isUnsent(prompt, initial) ? prompt : null;
  useKeptDraft(draft, typed, { holds_more: has_files, sending: send.isPending });
  const [effort, setEffort] = useState('');
  const [busy, setBusy] = useState('');
  const running = workflow.status === 'running' || workflow.status === 'waiting';
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (!prompt.trim() || refusal || prompt_files.uploading > 0) return;
    const body = {
      ...toPromptBody({ prompt, attachments: prompt_files.files }),
      ...(effort && { reasoning_effort: effort as 'low' }),
      ...(busy && { on_busy: busy as 'enqueue' }),
    };
    send.mutate({ params: { id: workflow.id }, body }, { onSuccess: finishSending });
  };
  const finishSending = ({ task_id }: { task_id: string }) => {
    setPrompt('');
    draft.remove();
    prompt_files.clear();
    sent?.(task_id);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
  };
  const onPaste = ({ clipboardData }: ClipboardEvent) => {
    // A copied table or paragraph also contains a picture of itself.
    const is_text = clipboardData.types.includes('text/plain');
    if (!plain && !is_text) prompt_files.add([...clipboardData.files]);
  };
  if (workflow.status === 'inactive')
    return <Text>This workflow is inactive. To send prompts, set its status to active in the settings.</Text>;
  return (
    <form onSubmit={submit}>
      <Stack gap="xs">
        <DraftNotice draft={draft} discard={() => setPrompt(initial)} />
        <Textarea
          label="Prompt"
          disabled={refusal !== null}
          title={refusal ?? ''}
          autosize
          minRows={2}
          maxRows={16}
          value={prompt}
          onChange={(event) => setPrompt(event.currentTarget.value)}
          onKeyDown={onKey}
          onPaste={onPaste}
          error={send.error?.errors.find(({ path }) => path === 'prompt')?.message}
        />
        {!plain && <PromptFiles {...prompt_files} />}
        {prompt_files.problems.map((problem) => (
          <Failure key={problem.message} problem={problem} />
        ))}
        <Group align="end" gap="sm">
          <Button
            type="submit"
            loading={send.isPending}
            data-needs={send.needs}
            disabled={!prompt.trim() || prompt_files.uploading > 0}
          >
            {label}
          </Button>
          {!plain && (
            <NativeSelect
              label="Reasoning effort"
              size="xs"
              value={effort}
              onChange={(event) => setEffort(event.currentTarget.value)}
              data={[{ value: '', label: 'workflow default' }, ...REASONING_EFFORTS]}
            />
          )}
          {running && (
            <NativeSelect
              label="If a run is in progress"
              size="xs"
              value={busy}
              onChange={(event) => setBusy(event.currentTarget.value)}
              data={[{ value: '', label: BUSY[workflow.on_busy] }, ...ON_BUSY.map((value) => ({ value, label: BUSY[value] }))]}
            />
          )}
          <Text size="xs" c="dimmed" visibleFrom="sm">
            <Kbd>Ctrl</Kbd> + <Kbd>Enter</Kbd> to send
          </Text>
        </Group>
        <Failure problem={send.error} />
        {!plain && (
          <Curl
            workflow_id={workflow.id}
            body={toPromptBody({ prompt: prompt.trim() || 'Your prompt', attachments: prompt_files.files })}
          />
        )}
      </Stack>
    </form>
  );
}

/** Shows the same request as a curl command, without the access token. */
function Curl({ workflow_id, body }: { workflow_id: string; body: object }) {
  return (
    <details>
      <summary className="note">Send with curl</summary>
      <Code label="the curl command">{toCurlCommand(workflow_id, body)}</Code>
    </details>
  );
}

const toCurlCommand = (workflow_id: string, body: object) =>
  [
    `curl ${location.origin}${requestUrl(workflows.prompt, { params: { id: workflow_id } })}`,
    `-H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json'`,
    `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
  ].join(' \\\n  ');

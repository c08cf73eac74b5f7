import { ActionIcon, Button, Group, NativeSelect, Text, Textarea } from '@mantine/core';
import { Paperclip } from 'lucide-react';
import { type ClipboardEvent, type FormEvent, type KeyboardEvent, useState } from 'react';
import { type Task, tasks } from '../../contracts/tasks.ts';
import { useRefusal } from '../api/may.ts';
import { useAct } from '../api/queries.ts';
import { FilePreviews } from '../runs/run-files.tsx';
import { Failure, FailureBelow } from '../ui/states.tsx';
import { SteadyButton } from '../ui/steady-button.tsx';
import { FileChooser, FilePills } from '../workflows/prompt-files.tsx';
import type { Outbox, WhenBusy } from './outbox.ts';
import type { Composer } from './use-composer.ts';

const WHEN_BUSY: { value: WhenBusy; label: string }[] = [
  { value: 'steer', label: 'Steer: next step' },
  { value: 'enqueue', label: 'Queue: next turn' },
  { value: 'interrupt', label: 'Interrupt now' },
];

interface BoxProps {
  composer: Composer;
  outbox: Outbox;
  /** The turn in progress. */
  active_task_id: string | null;
  /** Why nothing can be sent yet; null: it can. */
  lacks: string | null;
  onSent(): void;
}

/** The box for the next message. It takes messages while a turn works, too. */
export function MessageBox({ composer: { text, setText, files }, outbox, active_task_id, lacks, onSent }: BoxProps) {
  const refusal = useRefusal(outbox.needs);
  const [choice, choose] = useState<{ how: WhenBusy; task_id: string | null }>({ how: 'steer', task_id: null });
  // An interruption is meant for one message and one turn.
  const when_busy = choice.how === 'interrupt' && choice.task_id !== active_task_id ? 'steer' : choice.how;
  const has_text = text.trim() !== '';
  const missing = lacks ?? findMissing(has_text, files);
  const may_send = has_text && missing === null && refusal === null;
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (!may_send) return;
    outbox.send({ text, files: files.files, when_busy: active_task_id === null ? 'enqueue' : when_busy });
    setText('');
    files.clear();
    if (when_busy === 'interrupt') choose({ how: 'steer', task_id: null });
    onSent();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  const onPaste = ({ clipboardData }: ClipboardEvent) => {
    // A copied table or paragraph also contains a picture of itself.
    if (!clipboardData.types.includes('text/plain')) files.add([...clipboardData.files]);
  };
  return (
    <form onSubmit={submit} className="chat-form">
      <Attached {...files} />
      {files.problems.map((problem) => (
        <Failure key={problem.message} problem={problem} />
      ))}
      <Textarea
        label="Message"
        labelProps={{ className: 'visually-hidden' }}
        placeholder={active_task_id === null ? 'Message' : 'Message to the turn in progress'}
        disabled={refusal !== null}
        title={refusal ?? 'Enter sends. Shift+Enter starts a new line.'}
        variant="unstyled"
        autosize
        minRows={1}
        maxRows={10}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKey}
        onPaste={onPaste}
      />
      <Group gap="xs" justify="space-between">
        <Attach {...files} />
        <Group gap="xs" justify="flex-end">
          {missing !== null && (has_text || files.files.length > 0) && (
            <Text size="xs" role="status">
              {missing}
            </Text>
          )}
          {active_task_id !== null && (
            <>
              <NativeSelect
                aria-label="While the turn works"
                size="xs"
                value={when_busy}
                onChange={(event) => choose({ how: event.currentTarget.value as WhenBusy, task_id: active_task_id })}
                data={WHEN_BUSY}
              />
              <Stop key={active_task_id} task_id={active_task_id} />
            </>
          )}
          <Button type="submit" disabled={!may_send} title={missing ?? ''} data-needs={outbox.needs}>
            Send
          </Button>
        </Group>
      </Group>
    </form>
  );
}

type Files = Composer['files'];

/** Returns what has to be done before the message can be sent; null: nothing. */
function findMissing(has_text: boolean, { files, uploading }: Files): string | null {
  if (uploading > 0) return 'Uploading …';
  return files.length > 0 && !has_text ? 'Type a message to send with the files' : null;
}

function Attached({ files, remove }: Pick<Files, 'files' | 'remove'>) {
  if (files.length === 0) return null;
  return (
    <Group gap="xs">
      <FilePreviews files={files} height={64} />
      <FilePills files={files} remove={remove} />
    </Group>
  );
}

function Attach({ add, uploading, needs }: Pick<Files, 'add' | 'uploading' | 'needs'>) {
  return (
    <FileChooser add={add}>
      {({ onClick }) => (
        <ActionIcon
          component={SteadyButton}
          variant="subtle"
          color="gray"
          aria-label="Attach files"
          title="Attach files: images, PDF and text. You can also paste or drop them."
          loading={uploading > 0}
          data-needs={needs ?? undefined}
          onClick={onClick}
        >
          <Paperclip size={17} aria-hidden />
        </ActionIcon>
      )}
    </FileChooser>
  );
}

/** Stops the turn in progress, which keeps what it has done. */
function Stop({ task_id }: { task_id: Task['id'] }) {
  const stop = useAct(tasks.stop);
  return (
    <>
      <Button
        color="red"
        variant="default"
        loading={stop.isPending}
        data-needs={stop.needs}
        disabled={stop.isSuccess}
        onClick={() => stop.mutate({ params: { id: task_id } })}
      >
        {stop.isSuccess ? 'Stopping' : 'Stop'}
      </Button>
      <FailureBelow problem={stop.error} />
    </>
  );
}

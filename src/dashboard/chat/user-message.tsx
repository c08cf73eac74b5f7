import { Button, Group, Stack, Textarea } from '@mantine/core';
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { type Task, tasks } from '../../contracts/tasks.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { useAct } from '../api/queries.ts';
import { FilePreviews, RunFiles } from '../runs/run-files.tsx';
import { Copy } from '../ui/copy.tsx';
import { Failure } from '../ui/states.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';
import { areEdits, type TurnVersions, VersionSwitch } from './versions.tsx';

/** What was said at the beginning of a turn. Its author can say it otherwise, which makes another version of the turn. */
export function UserMessage({ task, versions }: { task: Task; versions: TurnVersions }) {
  const [editing, setEditing] = useState<boolean | null>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (editing === false) button.current?.focus();
  }, [editing]);
  const may_edit = isTerminal(task.status) && versions.refusal === null;
  return (
    <div className="chat-said">
      <FilePreviews files={task.attachments} />
      {editing ? (
        <Edit task={task} close={() => setEditing(false)} />
      ) : (
        <div className="bubble bubble-user" dir="auto">
          {task.prompt}
        </div>
      )}
      {task.attachments.length > 0 && (
        <span className="note">
          <RunFiles files={task.attachments} />
        </span>
      )}
      {!editing && (
        <div className="chat-tools">
          {areEdits(versions) && <VersionSwitch task={task} versions={versions} />}
          <Copy text={task.prompt} what="your message" />
          {may_edit && (
            <button ref={button} type="button" className="copy" aria-label="Edit your message" onClick={() => setEditing(true)}>
              Edit
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Edit({ task, close }: { task: Task; close(): void }) {
  const fork = useAct(tasks.fork);
  const [text, setText] = useState(task.prompt);
  const changed = text.trim() !== '' && text !== task.prompt;
  useUnsaved(changed && !fork.isPending && !fork.isSuccess);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    form.current!.scrollIntoView({ block: 'nearest' });
  }, []);
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (!changed) return;
    const body = { from_step: 1, prompt: text, in_thread: true, effects: 'live' as const };
    fork.mutate({ params: { id: task.id }, body }, { onSuccess: close });
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Escape') close();
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form ref={form} onSubmit={submit} className="chat-edit">
      <Stack gap="xs">
        <Textarea
          label="Edit your message"
          description="The conversation continues from here. The version before stays, with its answers."
          autosize
          minRows={2}
          maxRows={16}
          value={text}
          data-autofocus
          autoFocus
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKey}
        />
        <Failure problem={fork.error} />
        <Group gap="xs" justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button type="submit" disabled={!changed} loading={fork.isPending} data-needs={fork.needs}>
            Send
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { Pencil, Pin, PinOff, Trash2 } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useNavigate } from 'react-router';
import { type Thread, threads } from '../../contracts/threads.ts';
import { useClient } from '../api/context.tsx';
import { useAct, useWork } from '../api/queries.ts';
import { MoreActions } from '../runs/run-menu.tsx';
import { Failure, FailureBelow } from '../ui/states.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';

interface MenuProps {
  thread: Thread;
  /** True if the screen shows the thread, and has to leave it when it is deleted. */
  is_open: boolean;
  /** True in a list, where the button has to name its thread. */
  in_list?: boolean;
}

/** What can be done with a thread as a whole. */
export function ThreadMenu({ thread, is_open, in_list = false }: MenuProps) {
  const change = useAct(threads.update);
  const { id, pinned } = thread;
  const actions = [
    {
      label: 'Rename',
      icon: Pencil,
      needs: change.needs,
      does: { title: `Rename “${nameThread(thread)}”`, content: (close: () => void) => <Rename thread={thread} close={close} /> },
    },
    {
      label: pinned ? 'Unpin' : 'Pin',
      icon: pinned ? PinOff : Pin,
      needs: change.needs,
      does: () => change.mutate({ params: { id }, body: { pinned: !pinned } }),
    },
    {
      label: 'Delete',
      icon: Trash2,
      needs: threads.remove.access,
      does: {
        title: `Delete “${nameThread(thread)}”`,
        content: (close: () => void) => <Remove thread={thread} is_open={is_open} close={close} />,
      },
    },
  ];
  return (
    <>
      <MoreActions groups={[actions]} busy={change.isPending} {...(in_list && { label: `Actions of ${nameThread(thread)}` })} />
      <FailureBelow problem={change.error} />
    </>
  );
}

export const nameThread = ({ title, agent_name }: Pick<Thread, 'title' | 'agent_name'>) =>
  title ?? `Untitled, with ${agent_name}`;

function Rename({ thread: { id, title }, close }: { thread: Thread; close(): void }) {
  const change = useAct(threads.update);
  const [text, setText] = useState(title ?? '');
  const typed = text.trim();
  useUnsaved(typed !== (title ?? '') && !change.isPending && !change.isSuccess);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (typed) change.mutate({ params: { id }, body: { title: typed } }, { onSuccess: close });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput label="Title" value={text} data-autofocus onChange={(event) => setText(event.currentTarget.value)} />
        <Failure problem={change.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button type="submit" disabled={!typed} loading={change.isPending} data-needs={change.needs}>
            Rename
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Remove({ thread: { id, active_task_id }, is_open, close }: MenuProps & { close(): void }) {
  const navigate = useNavigate();
  const { call } = useClient();
  // The screen is left at once: what is read again afterwards includes the list, in which this menu is no longer.
  const deleteThread = async () => {
    await call(threads.remove, { params: { id } });
    close();
    if (is_open) void navigate('/chat');
  };
  const { access: needs, operation } = threads.remove;
  const act = useWork(deleteThread, { needs, operation, findRemovedId: () => id });
  return (
    <Stack>
      <Text>Its turns are deleted permanently, with what their runs recorded.</Text>
      {active_task_id !== null && <Text>A turn is in progress: stop it first.</Text>}
      <Failure problem={act.error} />
      <Group justify="flex-end">
        <Button variant="default" onClick={close} data-autofocus>
          Cancel
        </Button>
        <Button color="red" loading={act.isPending} data-needs={act.needs} onClick={() => act.mutate(undefined)}>
          Delete
        </Button>
      </Group>
    </Stack>
  );
}

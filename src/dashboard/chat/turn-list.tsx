import { Button, Group, Text } from '@mantine/core';
import { useEffect } from 'react';
import { type MessageReceipt, threadMessages } from '../../contracts/thread-messages.ts';
import type { Thread } from '../../contracts/threads.ts';
import { useList } from '../api/queries.ts';
import { Loaded } from '../ui/states.tsx';
import { listVersions } from './branches.ts';
import type { Outbox, Sending } from './outbox.ts';
import { OutgoingMessage } from './outgoing-message.tsx';
import { ReceiptLine } from './receipt.tsx';
import { ThreadTurn } from './turn.tsx';
import type { Composer } from './use-composer.ts';
import { useSeen } from './use-seen.ts';
import { useTurns } from './use-turns.ts';

const NEWEST_RECEIPTS = 100;
const BUSY = 'Wait until the turn in progress has ended, or stop it';

interface ListProps {
  thread: Thread;
  outbox: Outbox;
  /** Takes a message back into the box. */
  edit: Composer['edit'];
  /** Leaves the page where it is, however long it becomes. */
  stay(): void;
}

/** The turns of the branch in use, and below them the messages of this tab that are on their way. */
export function TurnList({ thread, outbox, edit, stay }: ListProps) {
  const { query, turns } = useTurns(thread);
  const receipts = useList(threadMessages.list, { limit: NEWEST_RECEIPTS }, { params: { id: thread.id } }).items ?? [];
  const { all, branch } = turns;
  const shown = new Set(branch.map(({ id }) => id));
  const sending = useOnTheirWay(outbox, shown, receipts);
  const on_way = new Set(sending.map(({ id }) => id));
  // A message that no turn of this branch shows, such as one that was refused before any read it.
  const others = receipts.filter(
    ({ id, task_id, state }) => WITHOUT_TURN.includes(state) && !shown.has(id) && !shown.has(task_id) && !on_way.has(id),
  );
  const is_empty = branch.length === 0 && sending.length === 0 && others.length === 0;
  return (
    <>
      {turns.has_earlier && <Earlier key={branch[0]?.id} loading={turns.loading} read={turns.readEarlier} />}
      {branch.map((task) => (
        <ThreadTurn
          key={task.id}
          task={task}
          versions={{
            thread_id: thread.id,
            of: listVersions(all, task),
            all,
            onSwitch: stay,
            refusal: thread.active_task_id === null ? null : BUSY,
          }}
          receipts={receipts.filter(({ id, task_id }) => id === task.id || task_id === task.id)}
          is_active={task.id === thread.active_task_id}
          edit={edit}
        />
      ))}
      {others.toReversed().map((receipt) => (
        <ReceiptLine key={receipt.id} of={receipt} edit={edit} />
      ))}
      {sending.map((one) => (
        <OutgoingMessage key={one.key} one={one} outbox={outbox} edit={edit} />
      ))}
      {is_empty && (
        <Loaded
          query={{ ...query, data: thread.head_task_id === null ? query.items : undefined }}
          what="Loading the conversation"
        >
          {() => <Text c="dimmed">No messages yet. Type one below.</Text>}
        </Loaded>
      )}
    </>
  );
}

/** The states of a message that no turn has read. */
const WITHOUT_TURN = ['pending', 'refused'];

/** Returns the messages of this tab that neither a turn nor a receipt shows yet; the others leave the outbox. */
function useOnTheirWay(outbox: Outbox, shown: ReadonlySet<string>, receipts: readonly MessageReceipt[]): Sending[] {
  const isShown = ({ id, task_id, state }: MessageReceipt) =>
    shown.has(id) || task_id !== id || !['pending', 'started'].includes(state);
  const arrived = new Set(receipts.filter(isShown).map(({ id }) => id));
  const sending = outbox.sending.filter(({ id }) => id === null || !(arrived.has(id) || shown.has(id)));
  useEffect(() => {
    for (const one of outbox.sending) if (!sending.includes(one)) outbox.remove(one);
  });
  return sending;
}

/** Reads earlier turns as the reader comes near them. */
function Earlier({ loading, read }: { loading: boolean; read(): void }) {
  const [element, seen] = useSeen<HTMLDivElement>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it comes into sight
  useEffect(() => {
    if (seen) read();
  }, [seen]);
  return (
    <Group ref={element} justify="center">
      <Button variant="default" loading={loading} data-needs="read" onClick={read}>
        Show earlier turns
      </Button>
    </Group>
  );
}

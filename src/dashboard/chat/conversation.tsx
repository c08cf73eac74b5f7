import { Button, Text } from '@mantine/core';
import { ArrowDown } from 'lucide-react';
import { type DragEvent, useState } from 'react';
import type { Thread } from '../../contracts/threads.ts';
import { Loading } from '../ui/states.tsx';
import { MessageBox } from './message-box.tsx';
import type { Outbox } from './outbox.ts';
import { OutgoingMessage } from './outgoing-message.tsx';
import { TurnList } from './turn-list.tsx';
import { type Composer, useComposer } from './use-composer.ts';
import { useNewest } from './use-newest.ts';

interface ConversationProps {
  /** Null: the first message begins the thread. */
  thread_id: string | null;
  /** The thread, once it has been read. */
  thread: Thread | undefined;
  outbox: Outbox;
  lacks: string | null;
}

/** The messages of a thread and the box for the next one. Files can be dropped anywhere. */
export function Conversation({ thread_id, thread, outbox, lacks }: ConversationProps) {
  const composer = useComposer(thread_id, outbox);
  const newest = useNewest();
  const { dropping, ...drop } = useDrop(composer.files.add);
  return (
    <div className="chat-main" data-dropping={dropping} {...drop}>
      <div className="chat-log" role="log" aria-label="Messages">
        {thread ? (
          <TurnList thread={thread} outbox={outbox} edit={composer.edit} stay={newest.stay} />
        ) : thread_id === null || outbox.sending.length > 0 ? (
          <FirstMessages outbox={outbox} edit={composer.edit} />
        ) : (
          <Loading what="Loading the conversation" />
        )}
      </div>
      <div className="chat-box">
        {!newest.at_end && (
          <Button
            variant="default"
            className="chat-newest"
            leftSection={<ArrowDown size={14} aria-hidden />}
            onClick={newest.show}
          >
            To the newest
          </Button>
        )}
        <MessageBox
          composer={composer}
          outbox={outbox}
          active_task_id={thread?.active_task_id ?? null}
          lacks={lacks}
          onSent={newest.show}
        />
      </div>
    </div>
  );
}

function FirstMessages({ outbox, edit }: { outbox: Outbox; edit: Composer['edit'] }) {
  if (outbox.sending.length === 0) return <Text c="dimmed">No messages yet. Type one below.</Text>;
  return outbox.sending.map((one) => <OutgoingMessage key={one.key} one={one} outbox={outbox} edit={edit} />);
}

const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer.types.includes('Files');

/** Takes files that are dropped, and shows where they can be. */
function useDrop(add: (files: File[]) => void) {
  const [dropping, setDropping] = useState(false);
  return {
    dropping,
    onDragOver(event: DragEvent) {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setDropping(true);
    },
    onDragLeave({ currentTarget, relatedTarget }: DragEvent) {
      if (!currentTarget.contains(relatedTarget as Node | null)) setDropping(false);
    },
    onDrop(event: DragEvent) {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setDropping(false);
      add([...event.dataTransfer.files]);
    },
  };
}

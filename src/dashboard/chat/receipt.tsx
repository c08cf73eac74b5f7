import { Button, Group, Text } from '@mantine/core';
import type { Task } from '../../contracts/tasks.ts';
import { type MessageReceipt, threadMessages } from '../../contracts/thread-messages.ts';
import { useAct } from '../api/queries.ts';
import { FilePreviews, RunFiles } from '../runs/run-files.tsx';
import { Status } from '../ui/show.tsx';
import { FailureBelow } from '../ui/states.tsx';
import type { Composer } from './use-composer.ts';

interface ReceiptProps {
  of: MessageReceipt | undefined;
  /** The turn that the message starts, which shows its text itself. */
  task?: Task;
  /** Takes a message that was not read back into the box. */
  edit: Composer['edit'];
}

/** Where a message is that no turn has read yet, or why none did. Its author can withdraw it while it waits. */
export function ReceiptLine({ of: receipt, task, edit }: ReceiptProps) {
  if (!receipt) return task ? <Status of="pending">Waits for its turn</Status> : null;
  return (
    <div className="chat-said" data-state={receipt.state}>
      {!task && <FilePreviews files={receipt.attachments} />}
      {!task && (
        <div className="bubble bubble-user" dir="auto">
          {receipt.message}
        </div>
      )}
      {!task && receipt.attachments.length > 0 && (
        <span className="note">
          <RunFiles files={receipt.attachments} />
        </span>
      )}
      <Group gap="xs" justify="flex-end">
        <ReceiptState receipt={receipt} />
        {receipt.state === 'pending' && <Withdraw receipt={receipt} />}
        {receipt.state === 'refused' && (
          <Button variant="default" size="compact-xs" onClick={() => edit({ text: receipt.message, files: receipt.attachments })}>
            Edit and send again
          </Button>
        )}
      </Group>
    </div>
  );
}

function ReceiptState({ receipt: { id, task_id, state, reason } }: { receipt: MessageReceipt }) {
  if (state === 'pending')
    return <Status of="waiting">{task_id === id ? 'Waits for its turn' : 'Waits for the next step, which reads it'}</Status>;
  if (state === 'refused')
    return (
      <>
        <Status of="refused">Not taken</Status>
        <Text size="xs">{reason ?? 'No reason was given'}</Text>
      </>
    );
  return (
    <Text size="xs" c="dimmed">
      {state}
    </Text>
  );
}

function Withdraw({ receipt: { id, thread_id } }: { receipt: MessageReceipt }) {
  const withdraw = useAct(threadMessages.withdraw);
  return (
    <>
      <Button
        variant="default"
        size="compact-xs"
        loading={withdraw.isPending}
        data-needs={withdraw.needs}
        onClick={() => withdraw.mutate({ params: { id: thread_id!, message_id: id } })}
      >
        Withdraw
      </Button>
      <FailureBelow problem={withdraw.error} />
    </>
  );
}

import { Button, Group } from '@mantine/core';
import { FilePreviews } from '../runs/run-files.tsx';
import { Failure } from '../ui/states.tsx';
import type { Outbox, Sending } from './outbox.ts';
import type { Composer } from './use-composer.ts';

interface OutgoingProps {
  one: Sending;
  outbox: Outbox;
  /** Takes the message back into the box. */
  edit: Composer['edit'];
}

/** A message that this tab is sending, or could not send. */
export function OutgoingMessage({ one, outbox, edit }: OutgoingProps) {
  const { text, files, problem } = one;
  return (
    <div className="chat-said" data-state={problem ? 'failed' : 'sending'}>
      <FilePreviews files={files} />
      <div className="bubble bubble-user" dir="auto">
        {text}
      </div>
      {files.length > 0 && <span className="note">{files.map(({ name }) => name).join(', ')}</span>}
      {problem ? (
        <>
          <Failure problem={problem} />
          <Group gap="xs" justify="flex-end">
            <Button variant="default" onClick={() => outbox.remove(one)}>
              Discard
            </Button>
            <Button variant="default" onClick={() => edit(one)}>
              Edit
            </Button>
            <Button variant="default" data-needs={outbox.needs} onClick={() => outbox.repeat(one)}>
              Send again
            </Button>
          </Group>
        </>
      ) : (
        <span className="note">Sending …</span>
      )}
    </div>
  );
}

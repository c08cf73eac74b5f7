import type { TaskEvent } from '../../client/index.ts';

interface Destination {
  /** True if pieces are written as they arrive; otherwise each message is written as a whole. */
  live: boolean;
  write(text: string): void;
  /** Ends the line of a message. */
  endLine(): void;
  /** Notes that the text so far is void. */
  restart(): void;
}

/**
 * Creates a writer of the model's messages, which returns true for the events that it has written. A stream that was lost
 * continues without the pieces that it missed, so the message itself completes what was written.
 */
export function createReplyWriter({ live, write, endLine, restart }: Destination): (event: TaskEvent) => boolean {
  let written = '';
  const drop = () => {
    if (written) restart();
    written = '';
  };
  return ({ type, data }) => {
    if (type === 'message_delta') {
      if (live) {
        write(data.delta);
        written += data.delta;
      }
      return true;
    }
    if (type === 'message' && data.role === 'assistant') {
      if (!data.content.startsWith(written)) drop();
      if (data.content) {
        write(data.content.slice(written.length));
        endLine();
      }
      written = '';
      return true;
    }
    if (type === 'log' && (data.event === 'attempt_reset' || data.event === 'stream_reset')) {
      drop();
      return data.event === 'attempt_reset';
    }
    return false;
  };
}

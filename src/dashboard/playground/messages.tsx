import { Button, Group, Stack, Textarea } from '@mantine/core';
import { messageTitle, type RequestMessage } from '../runs/step-request.tsx';
import { Code } from '../ui/show.tsx';
import { toMessageKey } from './draft.ts';

interface MessagesProps {
  of: RequestMessage[];
  /** The new texts of messages, by their position. */
  edits: Record<string, string>;
  change(edits: Record<string, string>): void;
}

/** Longer conversations are collapsed at first. */
const MOST_OPEN = 10;

/** Shows the messages of the request; each of them can be edited. */
export function Messages({ of: messages, edits, change }: MessagesProps) {
  const edited = Object.keys(edits).length;
  return (
    <details open={messages.length <= MOST_OPEN}>
      <summary>
        Messages ({messages.length}
        {edited > 0 && `, ${edited} edited`})
      </summary>
      <ol className="messages" aria-label="Messages">
        {messages.map((message) => {
          const place = toMessageKey(message);
          const { [place]: text, ...others } = edits;
          return (
            <MessageEdit
              key={place}
              message={message}
              text={text}
              set={(value) => change(value === null ? others : { ...edits, [place]: value })}
            />
          );
        })}
      </ol>
    </details>
  );
}

interface MessageEditProps {
  message: RequestMessage;
  /** The edited text; undefined: not edited. */
  text: string | undefined;
  /** Sets the text; null undoes the edit. */
  set(text: string | null): void;
}

function MessageEdit({ message, text, set }: MessageEditProps) {
  const title = messageTitle(message);
  const { content, tool_calls } = message;
  return (
    <li>
      <Stack gap={4}>
        <Group justify="space-between" gap="xs">
          <span className="note">{title}</span>
          {content !== '' && (
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => set(text === undefined ? content : null)}
              aria-label={`${text === undefined ? 'Edit' : 'Undo the edit of'} ${title}`}
            >
              {text === undefined ? 'Edit' : 'Undo'}
            </Button>
          )}
        </Group>
        {text === undefined ? (
          content && <Code label={title}>{content}</Code>
        ) : (
          <Textarea
            aria-label={`Text of ${title}`}
            autosize
            minRows={2}
            maxRows={24}
            data-autofocus
            value={text}
            onChange={(event) => set(event.currentTarget.value)}
          />
        )}
        {tool_calls?.map((call) => (
          <Code key={call.call_id} label={`Call ${call.call_id} of ${call.name}`}>
            {`${call.name}(${call.arguments})`}
          </Code>
        ))}
      </Stack>
    </li>
  );
}

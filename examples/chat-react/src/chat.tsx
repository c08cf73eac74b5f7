import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from 'ai';
import { useMemo, useState } from 'react';

interface Thread {
  url: string;
  headers: Record<string, string>;
  history: UIMessage[];
}

export function Chat({ url, headers, history }: Thread) {
  const [text, setText] = useState('');
  const transport = useMemo(
    () =>
      new DefaultChatTransport({
        api: `${url}/ui`,
        headers,
        // Perdura has the history: the last two messages are enough.
        prepareSendMessagesRequest: ({ messages, trigger, messageId }) => ({
          body: { messages: messages.slice(-2), trigger, messageId },
        }),
      }),
    [url, headers],
  );
  const { messages, status, error, sendMessage, regenerate, addToolApprovalResponse } = useChat({
    messages: history,
    transport,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const decide = (id: string, approved: boolean) => addToolApprovalResponse({ id, approved });

  return (
    <>
      <ol aria-label="Messages">
        {messages.map((message) => (
          <li key={message.id}>
            <strong>{message.role}</strong>
            {message.parts.map((part, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: parts are only added at the end.
              <Part key={index} part={part} decide={decide} status={status} />
            ))}
          </li>
        ))}
      </ol>
      {error && <p role="alert">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sendMessage({ text });
          setText('');
        }}
      >
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button type="submit" disabled={status !== 'ready' || text === ''}>
          Send
        </button>
        <button type="button" disabled={status !== 'ready' || messages.length === 0} onClick={() => void regenerate()}>
          Answer again
        </button>
      </form>
      <p role="status">{status}</p>
    </>
  );
}

interface PartView {
  part: UIMessage['parts'][number];
  status: string;
  decide(id: string, approved: boolean): unknown;
}

function Part({ part, status, decide }: PartView) {
  if (part.type === 'text') return <p>{part.text}</p>;
  if (part.type === 'reasoning') return <details>{part.text}</details>;
  if (!isToolUIPart(part)) return null;
  return (
    <div>
      <code>
        {getToolName(part)}({JSON.stringify(part.input)})
      </code>
      {part.state === 'approval-requested' && (
        // While a stream is read, useChat would keep the answer and not send it.
        <fieldset disabled={status !== 'ready'}>
          <button type="button" onClick={() => decide(part.approval.id, true)}>
            Approve
          </button>
          <button type="button" onClick={() => decide(part.approval.id, false)}>
            Deny
          </button>
        </fieldset>
      )}
      {part.state === 'output-available' && <output>{JSON.stringify(part.output)}</output>}
      {part.state === 'output-error' && <output>{part.errorText}</output>}
    </div>
  );
}

import {
  AuiIf,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
  useAuiEvent,
} from '@assistant-ui/react';
import { useAgUiInterrupts } from '@assistant-ui/react-ag-ui';

interface ChatView {
  /** Why the last run failed. */
  error: Error | null;
  onStart(): void;
}

export function Chat({ error, onStart }: ChatView) {
  useAuiEvent('thread.runStart', onStart);
  const is_asked = useAgUiInterrupts().length > 0;
  return (
    <ThreadPrimitive.Root>
      <ol aria-label="Messages">
        <ThreadPrimitive.Messages>
          {/* A run that makes no message, such as the connection to an empty thread, leaves an empty one. */}
          {({ message: { role, content, status } }) =>
            content.length === 0 && status?.type !== 'running' ? null : <Message role={role} />
          }
        </ThreadPrimitive.Messages>
      </ol>
      {/* The runtime takes no message while a call waits for a decision. */}
      {!is_asked && (
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
        </ComposerPrimitive.Root>
      )}
      {error && <p role="alert">{error.message}</p>}
      <p role="status">
        <AuiIf condition={({ thread }) => thread.isRunning}>running</AuiIf>
      </p>
    </ThreadPrimitive.Root>
  );
}

function Message({ role }: { role: string }) {
  return (
    <li>
      <strong>{role}</strong>
      <MessagePrimitive.Parts>
        {({ part }) => {
          if (part.type === 'text') return <p>{part.text}</p>;
          if (part.type === 'reasoning') return <details>{part.text}</details>;
          return part.type === 'tool-call' ? <ToolCall {...part} /> : null;
        }}
      </MessagePrimitive.Parts>
    </li>
  );
}

function ToolCall({ toolName, args, result, approval, respondToApproval }: ToolCallMessagePartProps) {
  return (
    <div>
      <code>
        {toolName}({JSON.stringify(args)})
      </code>
      {approval && approval.approved === undefined && !approval.resolution && (
        <>
          <button type="button" onClick={() => void respondToApproval({ approved: true })}>
            Approve
          </button>
          <button type="button" onClick={() => void respondToApproval({ approved: false })}>
            Deny
          </button>
        </>
      )}
      {result !== undefined && <output>{JSON.stringify(result)}</output>}
    </div>
  );
}

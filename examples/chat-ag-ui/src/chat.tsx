import {
  AuiIf,
  ComposerPrimitive,
  ErrorPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
} from '@assistant-ui/react';

export function Chat() {
  return (
    <ThreadPrimitive.Root>
      <ol aria-label="Messages">
        <ThreadPrimitive.Messages>
          {/* In a thread without messages, the answer to the connection has none, and is complete. */}
          {({ message: { role, content, status } }) =>
            content.length === 0 && status?.type === 'complete' ? null : <Message role={role} />
          }
        </ThreadPrimitive.Messages>
      </ol>
      <ComposerPrimitive.Root>
        <ComposerPrimitive.Input aria-label="Message" />
        <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
      </ComposerPrimitive.Root>
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
      <MessagePrimitive.Error>
        <ErrorPrimitive.Root>
          <ErrorPrimitive.Message />
        </ErrorPrimitive.Root>
      </MessagePrimitive.Error>
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

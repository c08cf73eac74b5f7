import { Alert, Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, Fragment, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import type { z } from 'zod';
import { type ChatEvent, type ChatMessage, chat } from '../../contracts/chat.ts';
import { buildRequest, requestUrl } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { useRefusal } from '../api/may.ts';
import { useAct } from '../api/queries.ts';
import { readFrames } from '../api/stream.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Markdown } from '../ui/markdown.tsx';

interface ConversationProps {
  agent_id: string;
  session_id: string | null;
  messages: z.output<typeof ChatMessage>[];
  /** The text typed for the next message. */
  draft: string;
  setDraft(text: string): void;
}

interface Exchange {
  question: string;
  reply: string;
}

/**
 * The messages, the exchange in progress and the next message. A reply is finished and stored even if the user leaves the page.
 */
export function Conversation({ agent_id, session_id, messages, draft, setDraft }: ConversationProps) {
  const { exchange, error, send, stop } = useExchange(agent_id, session_id);
  return (
    <Stack>
      <Said messages={messages} exchange={exchange} />
      {error && (
        <Alert color="red" variant="outline" role="alert">
          {error}
        </Alert>
      )}
      <MessageForm {...{ send, stop, draft, setDraft }} busy={exchange !== null}>
        {session_id && <RemoveSession agent_id={agent_id} session_id={session_id} />}
      </MessageForm>
    </Stack>
  );
}

function Said({ messages, exchange }: Pick<ConversationProps, 'messages'> & { exchange: Exchange | null }) {
  return (
    <div className="chat-log" role="log" aria-label="Messages">
      {messages.map(({ id, role, content, truncated }) => (
        <Fragment key={id}>
          <Bubble speaker={role} text={content} />
          {truncated && (
            <Text size="sm" c="dimmed">
              The reply ended at the model's output limit, so it is incomplete.
            </Text>
          )}
        </Fragment>
      ))}
      {exchange && (
        <>
          <Bubble speaker="user" text={exchange.question} />
          {exchange.reply ? (
            <Bubble speaker="assistant" text={exchange.reply} />
          ) : (
            <Text c="dimmed">The model is thinking …</Text>
          )}
        </>
      )}
      {messages.length === 0 && !exchange && <Text c="dimmed">No messages yet. Type one below.</Text>}
    </div>
  );
}

interface MessageFormProps extends Pick<ConversationProps, 'draft' | 'setDraft'> {
  send(text: string): Promise<boolean>;
  stop(): void;
  busy: boolean;
  children: ReactNode;
}

function MessageForm({ send, stop, busy, draft, setDraft, children }: MessageFormProps) {
  const refusal = useRefusal(chat.send.access);
  const latest_draft = useRef(draft);
  latest_draft.current = draft;
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (!draft.trim() || busy || refusal) return;
    setDraft('');
    // A message that was not accepted returns to the text box, unless the user has started another one.
    void send(draft).then((was_sent) => !was_sent && latest_draft.current === '' && setDraft(draft));
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs">
        <Textarea
          label="Message"
          disabled={refusal !== null}
          title={refusal ?? ''}
          description="Enter sends. Shift+Enter starts a new line."
          autosize
          minRows={2}
          maxRows={12}
          value={draft}
          onChange={(event) => setDraft(event.currentTarget.value)}
          onKeyDown={onKey}
        />
        <Group>
          {busy ? (
            <Button color="red" onClick={stop}>
              Stop
            </Button>
          ) : (
            <Button type="submit" disabled={!draft.trim()} data-needs={chat.send.access}>
              Send
            </Button>
          )}
          {children}
        </Group>
      </Stack>
    </form>
  );
}

function Bubble({ speaker, text }: { speaker: string; text: string }) {
  if (speaker === 'user') return <div className="bubble bubble-user">{text}</div>;
  return (
    <div className="bubble">
      <Markdown>{text}</Markdown>
    </div>
  );
}

function useExchange(agent_id: string, session_id: string | null) {
  const client = useClient();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [exchange, setExchange] = useState<Exchange | null>(null);
  const [error, setError] = useState<string | null>(null);
  const unmount = useRef(new AbortController());
  const current = useRef<{ session: string | null; stop: boolean }>({ session: null, stop: false });
  useEffect(() => {
    unmount.current = new AbortController();
    return () => unmount.current.abort();
  }, []);

  /** Sends a message; true if it was stored, even if the reply failed. */
  async function send(message: string): Promise<boolean> {
    const input = { params: { agent_id }, body: { message, ...(session_id ? { session_id } : {}) } };
    const { signal } = unmount.current;
    let session = session_id;
    current.current = { session, stop: false };
    setError(null);
    setExchange({ question: message, reply: '' });
    try {
      const response = await client.send(requestUrl(chat.send, input), { ...buildRequest(chat.send, input), signal });
      for await (const { data } of readFrames(response.body!)) {
        const event = data as z.output<typeof ChatEvent>;
        if (event.type === 'session') {
          session = event.session_id;
          current.current.session = session;
          if (current.current.stop) stop();
        }
        if (event.type === 'delta') setExchange((previous) => previous && { ...previous, reply: previous.reply + event.content });
        if (event.type === 'error') setError(event.message);
      }
    } catch (failure) {
      if (signal.aborted) return false;
      setError((failure as Error).message);
    }
    await queries.invalidateQueries();
    setExchange(null);
    if (session && session !== session_id) void navigate(`/chat/${agent_id}/${session}`, { replace: true });
    return session !== null;
  }

  /** Stops the reply. If the session is not known yet, the stop takes effect once it is. */
  function stop(): void {
    const { session } = current.current;
    current.current.stop = true;
    if (session)
      client.call(chat.stop, { params: { agent_id, session_id: session } }).catch((failure: Error) => setError(failure.message));
  }
  return { exchange, error, send, stop };
}

function RemoveSession({ agent_id, session_id }: { agent_id: string; session_id: string }) {
  const navigate = useNavigate();
  const act = useAct(chat.remove);
  const remove = async () => {
    await act.mutateAsync({ params: { agent_id, session_id } });
    void navigate(`/chat/${agent_id}`);
  };
  return (
    <Confirm
      label="Delete session"
      title="Delete this session"
      act={remove}
      problem={act.error}
      busy={act.isPending}
      needs={act.needs}
    >
      All its messages are deleted permanently.
    </Confirm>
  );
}

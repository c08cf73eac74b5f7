import { Alert, Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, Fragment, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import type { z } from 'zod';
import { type ChatMessage, chat } from '../../contracts/chat.ts';
import { useClient } from '../api/context.tsx';
import { useRefusal } from '../api/may.ts';
import { useAct } from '../api/queries.ts';
import { Confirm } from '../ui/confirm.tsx';
import { DraftNotice, useDraft, useKeptDraft } from '../ui/draft.tsx';
import { Markdown } from '../ui/markdown.tsx';
import { sendMessage } from './replies.ts';
import { useReply } from './use-reply.ts';

/** A session as the service has it. */
export interface Talk {
  messages: z.output<typeof ChatMessage>[];
  reply: { question_id: string; content: string } | null;
}

interface ConversationProps {
  agent_id: string;
  /** Null: the first message creates a session. */
  session_id: string | null;
  talk: Talk;
  /** Shows the messages, once they are known. */
  children(said: ReactNode): ReactNode;
}

/**
 * The messages, the reply in progress and the next message. Every reply is followed in the record, by this tab as by any other,
 * so that a reload changes nothing.
 */
export function Conversation({ agent_id, session_id, talk, children }: ConversationProps) {
  const { question, error, send, stop } = useSend(agent_id, session_id);
  const reply = useReply({ agent_id, session_id }, talk.reply);
  return (
    <Stack>
      {children(<Said messages={talk.messages} question={question} reply={reply} />)}
      {error && (
        <Alert color="red" variant="outline" role="alert">
          {error}
        </Alert>
      )}
      <MessageForm agent_id={agent_id} send={send} stop={stop} busy={question !== null || reply !== null}>
        {session_id && <RemoveSession agent_id={agent_id} session_id={session_id} />}
      </MessageForm>
    </Stack>
  );
}

interface SaidProps extends Pick<Talk, 'messages'> {
  /** The message that is being sent. */
  question: string | null;
  /** The text so far of the reply in progress. */
  reply: string | null;
}

function Said({ messages, question, reply }: SaidProps) {
  const is_waiting = question !== null || reply === '';
  return (
    <div className="chat-log" role="log" aria-label="Messages">
      {messages.map(({ id, role, content, truncated, error }) => (
        <Fragment key={id}>
          <Bubble speaker={role} text={content} />
          {truncated && (
            <Text size="sm" c="dimmed">
              The reply ended at the model's output limit, so it is incomplete.
            </Text>
          )}
          {error && (
            <Alert color="red" variant="outline" role="alert">
              {error}
            </Alert>
          )}
        </Fragment>
      ))}
      {question !== null && <Bubble speaker="user" text={question} />}
      {reply && <Bubble speaker="assistant" text={reply} />}
      {is_waiting && <Text c="dimmed">The model is thinking …</Text>}
      {messages.length === 0 && question === null && <Text c="dimmed">No messages yet. Type one below.</Text>}
    </div>
  );
}

interface MessageFormProps {
  agent_id: string;
  send(text: string): Promise<boolean>;
  stop(): void;
  busy: boolean;
  children: ReactNode;
}

/** The box for the next message. All sessions with an agent share its draft, because the first message creates a session. */
function MessageForm({ agent_id, send, stop, busy, children }: MessageFormProps) {
  const refusal = useRefusal(chat.send.access);
  const draft = useDraft<string>(`chat:${agent_id}`);
  const [text, setText] = useState(draft.restored?.typed ?? '');
  const [sending, setSending] = useState('');
  // A message that is being sent is kept, too: the page may be reloaded before it is accepted.
  const kept = text || sending;
  useKeptDraft(draft, kept.trim() ? kept : null);
  const latest_text = useRef(text);
  latest_text.current = text;
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (!text.trim() || busy || refusal) return;
    setText('');
    setSending(text);
    void send(text).then((was_sent) => {
      setSending('');
      // The user may have started another message, whose draft it is now.
      if (latest_text.current !== '') return;
      if (was_sent) draft.remove();
      else setText(text);
    });
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs">
        <DraftNotice draft={draft} discard={() => setText('')} />
        <Textarea
          label="Message"
          disabled={refusal !== null}
          title={refusal ?? ''}
          description="Enter sends. Shift+Enter starts a new line."
          autosize
          minRows={2}
          maxRows={12}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKey}
        />
        <Group>
          {busy ? (
            <Button color="red" onClick={stop}>
              Stop
            </Button>
          ) : (
            <Button type="submit" disabled={!text.trim()} data-needs={chat.send.access}>
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

/** Sends messages and stops replies. */
function useSend(agent_id: string, session_id: string | null) {
  const client = useClient();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [question, setQuestion] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const shown_session = useRef(session_id);
  shown_session.current = session_id;
  const wants_stop = useRef(false);
  const unmount = useRef(new AbortController());
  useEffect(() => {
    unmount.current = new AbortController();
    return () => unmount.current.abort();
  }, []);

  /** Sends a message; true once it is stored. Its reply is then followed in the record, like that of any other tab. */
  async function send(message: string): Promise<boolean> {
    const { signal } = unmount.current;
    wants_stop.current = false;
    setError(null);
    setQuestion(message);
    try {
      const sent_to = await sendMessage(client, { agent_id, session_id, message }, signal);
      if (wants_stop.current) stopReply(sent_to);
      await queries.invalidateQueries();
      // The user may have opened another session meanwhile.
      if (shown_session.current === session_id && sent_to !== session_id)
        void navigate(`/chat/${agent_id}/${sent_to}`, { replace: true });
      return true;
    } catch (failure) {
      setError((failure as Error).message);
      return false;
    } finally {
      setQuestion(null);
    }
  }

  function stopReply(session: string): void {
    client.call(chat.stop, { params: { agent_id, session_id: session } }).catch((failure: Error) => setError(failure.message));
  }
  /** Stops the reply in progress. That to a message that is not stored yet is stopped once it is. */
  function stop(): void {
    wants_stop.current = true;
    if (session_id) stopReply(session_id);
  }
  return { question, error, send, stop };
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

import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type ChatEvent, chat } from '../../contracts/chat.ts';
import { ApiProblem, buildRequest, type Client, requestUrl } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { readFrames } from '../api/stream.ts';

interface Sent {
  agent_id: string;
  session_id: string | null;
  message: string;
}

/** Sends a message and returns its session as soon as the message is stored. The service writes the reply without a reader. */
export async function sendMessage(client: Client, { agent_id, session_id, message }: Sent, signal: AbortSignal): Promise<string> {
  const input = { params: { agent_id }, body: { message, ...(session_id ? { session_id } : {}) } };
  const response = await client.send(requestUrl(chat.send, input), { ...buildRequest(chat.send, input), signal });
  for await (const { data } of readFrames(response.body!)) {
    const event = data as ChatEvent;
    if (event.type === 'session') return event.session_id;
  }
  throw new Error('The connection ended before the service had accepted the message. Send it again.');
}

interface Place {
  agent_id: string;
  session_id: string | null;
}

interface Reply {
  question_id: string;
  content: string;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/**
 * Follows the reply in progress, if there is one, and reads the session again when it has ended. Returns its text so far; null:
 * no reply is in progress.
 */
export function useReply({ agent_id, session_id }: Place, reply: Reply | null): string | null {
  const client = useClient();
  const queries = useQueryClient();
  const question_id = reply?.question_id ?? null;
  const [followed, setFollowed] = useState<Reply | null>(null);
  useEffect(() => {
    if (session_id === null || question_id === null) return;
    const leaving = new AbortController();
    const url = requestUrl(chat.stream, { params: { agent_id, session_id }, query: { question_id } });
    let content = '';
    const add = (more: string) => {
      content += more;
      setFollowed({ question_id, content });
    };
    const readSession = () => {
      if (!leaving.signal.aborted) void queries.invalidateQueries();
    };
    void readReply(client, url, { add, signal: leaving.signal }).then(readSession, readSession);
    return () => leaving.abort();
  }, [agent_id, session_id, question_id, client, queries]);
  if (!reply) return null;
  return followed?.question_id === reply.question_id ? followed.content : reply.content;
}

interface Reading {
  add(more: string): void;
  signal: AbortSignal;
}

/** Reads a reply to its end. After a broken connection it resumes after the last event. Rejects if the service refuses it. */
async function readReply(client: Client, url: string, { add, signal }: Reading): Promise<void> {
  const position = { last: 0 };
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      if (await readOnce(client, url, { add, signal, position })) return;
    } catch (error) {
      if (signal.aborted || (error instanceof ApiProblem && error.status >= 400 && error.status < 500)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    signal.throwIfAborted();
  }
}

/** Returns true if the reply has ended, false if the connection broke. */
async function readOnce(
  client: Client,
  url: string,
  { add, signal, position }: Reading & { position: { last: number } },
): Promise<boolean> {
  const headers = new Headers();
  if (position.last > 0) headers.set('last-event-id', String(position.last));
  const response = await client.send(url, { headers, signal });
  // It ended before it was followed.
  if (response.status === 204 || !response.body) return true;
  for await (const { id, data } of readFrames(response.body)) {
    const event = data as ChatEvent;
    position.last = id;
    if (event.type === 'delta') add(event.content);
    if (event.type === 'done' || event.type === 'error') return true;
  }
  return false;
}

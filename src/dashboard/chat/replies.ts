import { type ChatEvent, chat } from '../../contracts/chat.ts';
import { ApiProblem, buildRequest, type Client, requestUrl } from '../api/call.ts';
import { pause, readFrames } from '../api/stream.ts';

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

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
/** The refusals that no later attempt changes. Unlike them, too many open streams (429) pass. */
const FINAL: ReadonlySet<number> = new Set([400, 401, 403, 404]);

interface Reading {
  add(more: string): void;
  signal: AbortSignal;
}

/** Reads a reply to its end. After a broken connection it resumes after the last event. Rejects if the service refuses it. */
export async function readReply(client: Pick<Client, 'send'>, url: string, { add, signal }: Reading): Promise<void> {
  const position = { last: 0 };
  let wait = FIRST_WAIT_MS;
  while (true) {
    const before = position.last;
    try {
      if (await readOnce(client, url, { add, signal, position })) return;
    } catch (error) {
      if (signal.aborted || (error instanceof ApiProblem && FINAL.has(error.status))) throw error;
    }
    if (position.last > before) wait = FIRST_WAIT_MS;
    await pause(wait, signal);
    signal.throwIfAborted();
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

/** Returns true if the reply has ended, false if the connection broke. */
async function readOnce(
  client: Pick<Client, 'send'>,
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

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ChatEvent } from '../../src/contracts/chat.ts';
import { ApiProblem, type Client } from '../../src/dashboard/api/call.ts';
import { readReply, sendMessage } from '../../src/dashboard/chat/replies.ts';

const [SESSION, DONE]: ChatEvent[] = [
  { type: 'session', session_id: 's' },
  { type: 'done', usage: { prompt_tokens: 3, completion_tokens: 5 }, message_id: 'm' },
];
const delta = (content: string): ChatEvent => ({ type: 'delta', content });
const refusal = (status: number) => new ApiProblem({ status, code: 'refused', detail: `refused with ${status}` });

/** A connection that brings events, numbered from `first`, and then ends. */
const brings = (first: number, ...events: (ChatEvent | undefined)[]) =>
  new Response(events.map((event, index) => `id: ${first + index}\ndata: ${JSON.stringify(event)}\n\n`).join(''));

/** Reads a reply from a service whose connections are given, one after the other. Returns the text, and how each connection resumed. */
async function readFrom(connections: (Response | ApiProblem)[]) {
  const resumed: (string | null)[] = [];
  let text = '';
  const send = async (_: string, { headers }: RequestInit) => {
    resumed.push(new Headers(headers).get('last-event-id'));
    const next = connections.shift()!;
    if (next instanceof ApiProblem) throw next;
    return next;
  };
  const add = (more: string) => {
    text += more;
  };
  const reading = readReply({ send }, '/stream', { add, signal: new AbortController().signal });
  const ended = reading.then(
    () => 'read',
    ({ message }: Error) => message,
  );
  await vi.runAllTimersAsync();
  return { outcome: await ended, text, resumed };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('is read to its end over broken connections, each of which resumes after the last event', async () => {
  const connections = [brings(1, SESSION, delta('One ')), brings(3, delta('two ')), brings(4, delta('three.'), DONE)];
  expect(await readFrom(connections)).toEqual({ outcome: 'read', text: 'One two three.', resumed: [null, '2', '3'] });
});

it.each([0, 429, 503])('is asked for again after a refusal with %i, which passes', async (status) => {
  expect(await readFrom([refusal(status), brings(1, SESSION, delta('One.'), DONE)])).toMatchObject({
    outcome: 'read',
    text: 'One.',
  });
});

it.each([400, 401, 403, 404])('is given up after a refusal with %i', async (status) => {
  expect(await readFrom([refusal(status)])).toEqual({ outcome: `refused with ${status}`, text: '', resumed: [null] });
});

it('is at its end if nothing is in progress', async () => {
  expect(await readFrom([new Response(null, { status: 204 })])).toMatchObject({ outcome: 'read', text: '' });
});

it('of a message is looked for in its session, which is known only once the message is stored', async () => {
  const sendTo = (answer: Response) => {
    const client = { send: async () => answer } as unknown as Client;
    return sendMessage(client, { agent_id: 'a', session_id: null, message: 'Hello' }, new AbortController().signal);
  };
  expect(await sendTo(brings(1, delta('One.'), SESSION))).toBe('s');
  await expect(sendTo(brings(1, delta('One.')))).rejects.toThrow('Send it again.');
});

import { useRef, useState } from 'react';
import type { Attachment } from '../../contracts/attachments.ts';
import { threadMessages } from '../../contracts/thread-messages.ts';
import { threads } from '../../contracts/threads.ts';
import type { ApiProblem } from '../api/call.ts';
import { useAct } from '../api/queries.ts';

export type WhenBusy = 'steer' | 'enqueue' | 'interrupt';

export interface Message {
  text: string;
  files: readonly Attachment[];
  when_busy: WhenBusy;
}

/** A message of this tab, from the moment it is sent until the thread shows it. */
export interface Sending extends Message {
  /** The idempotency key: a repetition is not taken twice. */
  key: string;
  /** The id of its receipt, once the service has it. */
  id: string | null;
  problem: ApiProblem | null;
}

/** Whose settings the turns of a new thread take. */
export type Home = { agent_id: string } | { workflow_id: string };

export type Outbox = ReturnType<typeof useOutbox>;

const TITLE_CHARACTERS = 80;
const toTitle = (text: string) => [...text.trim()].slice(0, TITLE_CHARACTERS).join('').trim();

interface Place {
  /** Null: the first message begins a thread. */
  thread_id: string | null;
  home: Home | null;
  onBegun(thread_id: string): void;
}

/** Sends the messages of this tab, one after the other. */
export function useOutbox({ thread_id, home, onBegun }: Place) {
  const [sending, setSending] = useState<readonly Sending[]>([]);
  const begin = useAct(threads.create);
  const act = useAct(threadMessages.create, { line: 'messages of a chat' });
  /** The thread that the first message begins; others that are sent meanwhile wait for it. */
  const begun = useRef<Promise<string> | null>(null);
  const change = (key: string, facts: Partial<Sending>) =>
    setSending((before) => before.map((one) => (one.key === key ? { ...one, ...facts } : one)));

  async function beginThread({ key, text }: Sending): Promise<string> {
    const input = { body: { ...(home as { agent_id: string }), title: toTitle(text) }, idempotency_key: `begin-${key}` };
    const { id } = await begin.mutateAsync(input);
    onBegun(id);
    return id;
  }

  async function post(one: Sending): Promise<string> {
    const { key, text, files, when_busy } = one;
    begun.current ??= thread_id === null ? beginThread(one) : Promise.resolve(thread_id);
    const id = await begun.current.catch((problem: ApiProblem) => {
      begun.current = null;
      throw problem;
    });
    const body = { message: text, when_busy, ...(files.length > 0 && { attachments: files.map((file) => ({ id: file.id })) }) };
    return (await act.mutateAsync({ params: { id }, body, idempotency_key: key })).id;
  }

  const start = (one: Sending) =>
    void post(one).then(
      (id) => change(one.key, { id }),
      (problem: ApiProblem) => change(one.key, { problem }),
    );
  return {
    sending,
    send(message: Message) {
      const one = { ...message, key: crypto.randomUUID(), id: null, problem: null };
      setSending((before) => [...before, one]);
      start(one);
    },
    /** Sends a message again whose request failed. */
    repeat(one: Sending) {
      change(one.key, { problem: null });
      start(one);
    },
    remove: ({ key }: Sending) => setSending((before) => before.filter((one) => one.key !== key)),
    needs: act.needs,
  };
}

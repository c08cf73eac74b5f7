import { useRef, useState } from 'react';
import type { Attachment } from '../../contracts/attachments.ts';
import { threadMessages } from '../../contracts/thread-messages.ts';
import { threads } from '../../contracts/threads.ts';
import type { ApiProblem } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { useWork } from '../api/queries.ts';

export type WhenBusy = 'steer' | 'enqueue' | 'interrupt';

/** What the box for the next message holds. */
export interface Typed {
  text: string;
  files: readonly Attachment[];
}

export interface Message extends Typed {
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
  const { call } = useClient();
  const begun = useRef(thread_id);
  const change = (key: string, facts: Partial<Sending>) =>
    setSending((before) => before.map((one) => (one.key === key ? { ...one, ...facts } : one)));

  async function beginThread({ key, text }: Sending): Promise<string> {
    const body = { ...(home as { agent_id: string }), title: toTitle(text) };
    const { id } = await call(threads.create, { body, idempotency_key: `begin-${key}` });
    onBegun(id);
    return id;
  }

  async function post(one: Sending): Promise<string> {
    const { key, text, files, when_busy } = one;
    begun.current ??= await beginThread(one);
    const body = { message: text, when_busy, ...(files.length > 0 && { attachments: files.map((file) => ({ id: file.id })) }) };
    return (await call(threadMessages.create, { params: { id: begun.current }, body, idempotency_key: key })).id;
  }

  /** Its outcome is kept before the work ends, which waits until everything visible has been read again. */
  const work = (one: Sending) =>
    post(one).then(
      (id) => change(one.key, { id }),
      (problem: ApiProblem) => change(one.key, { problem }),
    );

  const { access: needs, operation } = threadMessages.create;
  const act = useWork(work, { needs, operation, line: 'messages of a chat' });
  return {
    sending,
    send(message: Message) {
      const one = { ...message, key: crypto.randomUUID(), id: null, problem: null };
      setSending((before) => [...before, one]);
      act.mutate(one);
    },
    /** Sends a message again whose request failed. */
    repeat(one: Sending) {
      change(one.key, { problem: null });
      act.mutate(one);
    },
    remove: ({ key }: { key?: string }) => setSending((before) => before.filter((one) => one.key !== key)),
    needs: act.needs,
  };
}

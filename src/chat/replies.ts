import { setTimeout as wait } from 'node:timers/promises';
import type { Agent } from '../contracts/agents.ts';
import type { ChatEvent } from '../contracts/chat.ts';
import { mailbox } from '../domain/mailbox.ts';
import { storable } from '../domain/transcript.ts';
import type { Caller } from '../identity/caller.ts';
import type { ChatStore } from '../store/resources/chat.ts';

interface ChatTurn {
  agent: Agent;
  caller: Caller;
  session_id: string;
  /** The id of the message that is replied to. */
  question_id: string;
  /** The id that the reply will be stored under. */
  message_id: string;
}

interface ChatAnswer {
  text: string;
  usage: { prompt_tokens: number; completion_tokens: number };
}

/** Asks the agent's model. Text is emitted as it arrives. Throws a sentence if the provider failed. */
export type AskModel = (
  turn: ChatTurn,
  history: { role: string; content: string }[],
  hear: { emit: (delta: string) => void; signal: AbortSignal },
) => Promise<ChatAnswer>;

/** Text of a stored reply, which its reader loads when it is about to send it; null if it was deleted. */
export interface StoredText {
  load(): Promise<string | null>;
}

export interface ChatReplies {
  /** Starts a reply. It is finished and stored even if nobody reads the stream to its end. */
  start(turn: ChatTurn): AsyncIterable<ChatEvent | StoredText>;
  /**
   * Stops the replies of a session that this process is writing at once. The text so far is stored as the reply. A stop that is on
   * record, and the end of the session, are noticed within seconds.
   */
  stop(session_id: string): void;
  /** Gives replies in progress `grace_ms` to end, then stops them. */
  close(grace_ms: number): Promise<void>;
}

/** Kept in memory of a stored reply for a reader that is behind. */
export const MOST_KEPT = 64 * 1024;
/** How often the record is asked for stops while replies are written. */
const LOOK_MS = 2_000;
/** How often a reply that waits for an earlier one of its session asks whether it is there. */
const TURN_MS = 250;

interface ChatPorts {
  store: Pick<ChatStore, 'messages' | 'message' | 'answer' | 'stops' | 'keepReplying' | 'endReplying' | 'isBehindAnother'>;
  ask: AskModel;
}

interface ActiveReply {
  session_id: string;
  question_id: string;
  stopping: AbortController;
  /** How often the session was stopped before this reply; null until that is known. */
  stops: number | null;
}

/** Why a reply was aborted: a person stopped it. */
const STOPPED = new Error('The reply was stopped');

export function chatReplies({ store, ask }: ChatPorts): ChatReplies {
  const closing = new AbortController();
  const active = new Map<Promise<void>, ActiveReply>();
  let watch: NodeJS.Timeout | undefined;

  /** Writes the reply to the tape and returns its last event. */
  async function reply(turn: ChatTurn, { emit, said, stored }: Tape, active_reply: ActiveReply): Promise<ChatEvent> {
    const { session_id, question_id, message_id } = turn;
    const stopped = active_reply.stopping.signal;
    try {
      active_reply.stops = (await store.stops([session_id])).get(session_id) ?? 0;
      const signal = AbortSignal.any([closing.signal, stopped]);
      const history = await loadHistory(turn, signal);
      const answer = ask(turn, history, { emit, signal });
      const { text, usage } = await answer.catch((error: Error) => toStoppedAnswer(said(), stopped, error));
      await store.answer(session_id, { id: message_id, question_id, content: storable(text), usage });
      stored(async () => (await store.message(message_id))?.content ?? null);
      return { type: 'done', usage, message_id };
    } catch (error) {
      // Questions that wait for this reply wait a few seconds longer if this cannot be written.
      await store.endReplying(question_id).catch(() => {});
      return { type: 'error', message: (error as Error).message };
    }
  }

  /** The messages up to the question, once the earlier questions of the session have their replies. */
  async function loadHistory({ session_id, question_id }: ChatTurn, signal: AbortSignal) {
    while (await store.isBehindAnother(session_id, question_id))
      await wait(TURN_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    const messages = await store.messages(session_id);
    return messages.slice(0, messages.findIndex(({ id }) => id === question_id) + 1);
  }

  /** Stops what is stopped on record: the notice of another process may be lost. */
  async function pollStops(): Promise<void> {
    await store.keepReplying([...active.values()].map(({ question_id }) => question_id));
    const stoppable = [...active.values()].filter(({ stops }) => stops !== null);
    const now = await store.stops(stoppable.map(({ session_id }) => session_id));
    for (const { session_id, stopping, stops } of stoppable) {
      const count = now.get(session_id);
      if (count === undefined) stopping.abort(new Error('The chat session was deleted'));
      else if (count > (stops ?? 0)) stopping.abort(STOPPED);
    }
  }

  /** Looks as long as replies are being written. A database that cannot be reached is asked again. */
  function keepPolling(): void {
    if (active.size > 0) watch ??= setInterval(() => void pollStops().catch(() => {}), LOOK_MS).unref();
    else {
      clearInterval(watch);
      watch = undefined;
    }
  }

  return {
    start(turn) {
      const text = tape();
      const { session_id, question_id } = turn;
      const active_reply: ActiveReply = { session_id, question_id, stopping: new AbortController(), stops: null };
      const work = reply(turn, text, active_reply).then((last) => {
        text.end(last);
        active.delete(work);
        keepPolling();
      });
      active.set(work, active_reply);
      keepPolling();
      return text.play({ type: 'session', session_id });
    },
    stop(session_id) {
      for (const one of active.values()) if (one.session_id === session_id) one.stopping.abort(STOPPED);
    },
    async close(grace_ms) {
      const timer = setTimeout(() => closing.abort(new Error('The service is being stopped')), grace_ms);
      await Promise.all(active.keys());
      clearTimeout(timer);
    },
  };
}

type Tape = ReturnType<typeof tape>;

/** The text of a reply, kept once, until it is stored: for the record, and for a reader however far behind it is. */
function tape() {
  let unread: string[] = [];
  let text_so_far = '';
  let read = 0;
  let rest: StoredText | null = null;
  let last: ChatEvent | null = null;
  // It only says that there is more.
  const bell = mailbox<true>({ most: 0, getSize: () => 1, instead: true });
  return {
    emit(content: string) {
      text_so_far += content;
      unread.push(content);
      bell.put(true);
    },
    said: () => text_so_far,
    /** A reader that is far behind gets the rest of the text from the record. */
    stored(load: StoredText['load']) {
      if (text_so_far.length - read > MOST_KEPT) {
        const from = read;
        rest = { load: async () => (await load())?.slice(from) ?? null };
        unread = [];
      }
      text_so_far = '';
    },
    end(event: ChatEvent) {
      last = event;
      bell.put(true);
      bell.end();
    },
    async *play(first: ChatEvent): AsyncGenerator<ChatEvent | StoredText> {
      yield first;
      for await (const _ of bell.read())
        for (let content = unread.shift(); content !== undefined; content = unread.shift()) {
          read += content.length;
          yield { type: 'delta', content };
        }
      if (rest) yield rest;
      if (last) yield last;
    },
  };
}

/** The reply to store when a person stopped it. Its usage is unknown, since the model's stream was not read to its end. */
function toStoppedAnswer(text: string, stopped: AbortSignal, error: Error): ChatAnswer {
  if (!stopped.aborted) throw error;
  if (stopped.reason !== STOPPED) throw stopped.reason;
  if (!text) throw new Error('The reply was stopped before the model wrote anything');
  return { text, usage: { prompt_tokens: 0, completion_tokens: 0 } };
}

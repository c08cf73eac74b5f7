import { setTimeout as wait } from 'node:timers/promises';
import type { Agent } from '../contracts/agents.ts';
import type { ChatEvent } from '../contracts/chat.ts';
import { mailbox } from '../domain/mailbox.ts';
import { storable } from '../domain/transcript.ts';
import type { Caller } from '../identity/caller.ts';
import type { ChatStore, ChatUsage } from '../store/resources/chat.ts';
import { type FollowPorts, followReply, type NumberedEvent, recordParts, type StoredText } from './reply-record.ts';

interface ChatTurn {
  agent: Agent;
  caller: Caller;
  session_id: string;
  /** The id of the question's message. */
  question_id: string;
  /** The id under which the reply will be stored. */
  message_id: string;
}

interface ChatAnswer {
  text: string;
  usage: ChatUsage;
  /** True if the answer ended at the model's output limit; absent: false. */
  truncated?: boolean;
}

/**
 * Asks the agent's model and emits text as it arrives. Throws an error with a readable message if the provider failed. If the signal ends
 * the answer, reports what it has used until then before it throws.
 */
export type AskModel = (
  turn: ChatTurn,
  history: { role: string; content: string }[],
  hear: { emit: (delta: string) => void; reportUsage: (usage: ChatUsage) => void; signal: AbortSignal },
) => Promise<ChatAnswer>;

export interface ChatReplies {
  /** Starts a reply. It is finished and stored even if nobody reads the stream to its end. */
  start(turn: ChatTurn): AsyncIterable<ChatEvent | StoredText>;
  /** Follows the reply to a question from the event after `seen`, whichever process writes it, until it ends. */
  follow(reply: Parameters<typeof followReply>[1], signal: AbortSignal): AsyncIterable<NumberedEvent>;
  /**
   * Immediately stops the replies of a session that this process is writing. The text so far is stored as the reply. Other
   * processes notice a recorded stop, and the end of the session, within seconds.
   */
  stop(session_id: string): void;
  /** Gives replies in progress `grace_ms` to end, then stops them. */
  close(grace_ms: number): Promise<void>;
}

/** The most text of a stored reply that is kept in memory for a slow reader. */
export const MOST_KEPT = 64 * 1024;
/** The time between checks of the record for stops while replies are written. */
const LOOK_MS = 2_000;
/** The time between checks of a waiting reply for the earlier one of its session. */
const TURN_MS = 250;
/** How long the parts of a reply are kept after its end, for readers who lost their connection. */
const PARTS_KEPT_MS = 60_000;

type UsedStore = 'messages' | 'message' | 'answer' | 'stops' | 'keepReplying' | 'endReplying' | 'isBehindAnother';

interface ChatPorts {
  store: Pick<ChatStore, UsedStore | 'addParts' | 'removeParts' | 'readReply'>;
  ask: AskModel;
  /** Sends a notice that a reply of a session has changed to all who `listen`, in any process. It may be lost. */
  announce(session_id: string): void;
  listen: FollowPorts['listen'];
}

interface ActiveReply {
  session_id: string;
  question_id: string;
  stopping: AbortController;
  /** The number of stops of the session before this reply; null until it is known. */
  stops: number | null;
}

/** The abort reason of a reply that a person stopped. */
const STOPPED = new Error('The reply was stopped');

export function chatReplies({ store, ask, announce, listen }: ChatPorts): ChatReplies {
  const closing = new AbortController();
  const active = new Map<Promise<void>, ActiveReply>();
  /** The timers that remove the parts of replies that have ended, by question. */
  const kept_parts = new Map<string, NodeJS.Timeout>();
  let watch: NodeJS.Timeout | undefined;

  /** Writes the reply to the tape and returns its last event. */
  async function reply(turn: ChatTurn, { emit: emitToTape, getText, markStored }: Tape, active_reply: ActiveReply) {
    const { session_id, question_id, message_id } = turn;
    const stopped = active_reply.stopping.signal;
    const record = recordParts(async (first, parts) => {
      await store.addParts(question_id, first, parts.map(storable));
      announce(session_id);
    });
    const emit = (delta: string) => {
      emitToTape(delta);
      record.add(delta);
    };
    try {
      active_reply.stops = (await store.stops([session_id])).get(session_id)!;
      const signal = AbortSignal.any([closing.signal, stopped]);
      const history = await loadHistory(turn, signal);
      let used: ChatUsage = { prompt_tokens: 0, completion_tokens: 0 };
      const reportUsage = (usage: ChatUsage) => {
        used = usage;
      };
      const answer = ask(turn, history, { emit, reportUsage, signal });
      const { text, usage, truncated } = await answer.catch((error: Error) =>
        toStoppedAnswer({ text: getText(), usage: used }, stopped, error),
      );
      const cut = truncated ? { truncated } : {};
      await record.end();
      await store.answer(session_id, { id: message_id, question_id, content: storable(text), usage, ...cut });
      markStored(async () => (await store.message(message_id))?.content ?? null);
      return { type: 'done' as const, usage, message_id, ...cut };
    } catch (error) {
      const { message } = error as Error;
      await record.end();
      // If this write fails, questions that wait for this reply wait a few seconds longer.
      await store.endReplying(question_id, storable(message)).catch(() => {});
      return { type: 'error' as const, message };
    } finally {
      announce(session_id);
      keepParts(question_id);
    }
  }

  function keepParts(question_id: string): void {
    const remove = () => {
      kept_parts.delete(question_id);
      // Parts that stay are removed with the session.
      void store.removeParts([question_id]).catch(() => {});
    };
    kept_parts.set(question_id, setTimeout(remove, PARTS_KEPT_MS).unref());
  }

  /** Returns the messages up to the question, once the earlier questions of the session have their replies. */
  async function loadHistory({ session_id, question_id }: ChatTurn, signal: AbortSignal) {
    while (await store.isBehindAnother(session_id, question_id))
      await wait(TURN_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    const messages = await store.messages(session_id);
    return messages.slice(0, messages.findIndex(({ id }) => id === question_id) + 1);
  }

  /** Stops replies whose stop is recorded: the notice of another process may be lost. */
  async function pollStops(): Promise<void> {
    await store.keepReplying([...active.values()].map(({ question_id }) => question_id));
    const stoppable = [...active.values()].filter(({ stops }) => stops !== null);
    const now = await store.stops(stoppable.map(({ session_id }) => session_id));
    for (const { session_id, stopping, stops } of stoppable) {
      const count = now.get(session_id);
      if (count === undefined) stopping.abort(new Error('The chat session was deleted'));
      else if (count > stops!) stopping.abort(STOPPED);
    }
  }

  /** Polls as long as replies are being written. An unreachable database is polled again. */
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
    follow: (followed, signal) => followReply({ store, listen }, followed, signal),
    stop(session_id) {
      for (const one of active.values()) if (one.session_id === session_id) one.stopping.abort(STOPPED);
    },
    async close(grace_ms) {
      const timer = setTimeout(() => closing.abort(new Error('The service is being stopped')), grace_ms);
      await Promise.all(active.keys());
      clearTimeout(timer);
      for (const kept of kept_parts.values()) clearTimeout(kept);
      await store.removeParts([...kept_parts.keys()]).catch(() => {});
    },
  };
}

type Tape = ReturnType<typeof tape>;

/** Keeps one copy of a reply's text until it is stored: for the record, and for any reader, however slow. */
function tape() {
  let unread_deltas: string[] = [];
  let text_so_far = '';
  let read = 0;
  let rest: StoredText | null = null;
  let last: ChatEvent | null = null;
  // The bell only signals that there is more.
  const bell = mailbox<true>({ most: 0, getSize: () => 1, instead: true });
  return {
    emit(content: string) {
      text_so_far += content;
      unread_deltas.push(content);
      bell.put(true);
    },
    getText: () => text_so_far,
    /** Gives a slow reader the rest of the text from the record. */
    markStored(load: StoredText['load']) {
      if (text_so_far.length - read > MOST_KEPT) {
        const from = read;
        rest = { load: async () => (await load())?.slice(from) ?? null };
        unread_deltas = [];
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
        for (let content = unread_deltas.shift(); content !== undefined; content = unread_deltas.shift()) {
          read += content.length;
          yield { type: 'delta', content };
        }
      if (rest) yield rest;
      yield last!;
    },
  };
}

/** Returns the reply to store when a person stopped it: what the model wrote and used until then. */
function toStoppedAnswer(so_far: ChatAnswer, stopped: AbortSignal, error: Error): ChatAnswer {
  if (!stopped.aborted) throw error;
  if (stopped.reason !== STOPPED) throw stopped.reason;
  if (!so_far.text) throw new Error('The reply was stopped before the model wrote anything');
  return so_far;
}

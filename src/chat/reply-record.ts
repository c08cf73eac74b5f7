import type { ChatEvent } from '../contracts/chat.ts';
import { mailbox } from '../domain/mailbox.ts';
import type { ChatStore, ReplyState } from '../store/resources/chat.ts';

/** The time between two writes of a reply in progress: what a reader of the record is behind, at most. */
const WRITE_MS = 200;
/** The time between checks of the record while a reply is followed: the notice of a change may be lost. */
const LOOK_MS = 2_000;

/**
 * Writes the parts of a reply as they are produced. Nothing waits for the writes; parts that could not be written are written
 * again with the next ones, or by `end`.
 */
export function recordParts(write: (first: number, parts: string[]) => Promise<void>) {
  let next = 1;
  let unwritten: string[] = [];
  /** A write that failed may have succeeded after all, so it is repeated exactly. */
  let batch: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  let turn: Promise<void> = Promise.resolve();
  const writeAll = async () => {
    while (batch.length + unwritten.length > 0) {
      if (batch.length === 0) [batch, unwritten] = [unwritten, []];
      await write(next, batch);
      next += batch.length;
      batch = [];
    }
  };
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    turn = turn.then(writeAll).catch(() => {});
    return turn;
  };
  return {
    add(part: string) {
      unwritten.push(part);
      timer ??= setTimeout(flush, next === 1 ? 0 : WRITE_MS);
    },
    /** Writes what is left. */
    end: flush,
  };
}

/** The text of a stored reply, which its reader loads just before sending it; null if it was deleted. */
export interface StoredText {
  load(): Promise<string | null>;
}

/** An event of a reply with its number: the session is 1, the first part of the text 2. */
export interface NumberedEvent {
  id: number;
  event: ChatEvent | StoredText;
}

export interface FollowPorts {
  store: Pick<ChatStore, 'readReply' | 'message'>;
  /** Calls `wake` when a reply of the session may have changed. Returns a function that ends this. */
  listen(session_id: string, wake: () => void): () => void;
}

interface Following {
  session_id: string;
  question_id: string;
  /** The number of the last event that the reader has; 0: none. */
  seen: number;
}

/** Follows a reply in the record, whichever process writes it, until its end or until the signal aborts. */
export async function* followReply(
  { store, listen }: FollowPorts,
  { session_id, question_id, seen }: Following,
  signal: AbortSignal,
): AsyncGenerator<NumberedEvent> {
  // Several notices are one look, and without any the reader looks every few seconds.
  const looks = mailbox<'look'>({ most: 0, getSize: () => 1, instead: 'look', idle_ms: LOOK_MS });
  const look = () => looks.put('look');
  const stopListening = listen(session_id, look);
  signal.addEventListener('abort', looks.end);
  let place: Place = { next: 1, length: 0, characters: 0 };
  try {
    if (seen < 1) yield { id: 1, event: { type: 'session', session_id } };
    look();
    for await (const _ of looks.read()) {
      if (signal.aborted) return;
      const state = await store.readReply(question_id, place.next);
      for (const { parts } of state?.deltas ?? []) {
        const unseen = parts.slice(Math.max(0, seen - place.next));
        place = movePast(place, parts);
        if (unseen.length > 0) yield { id: place.next, event: { type: 'delta', content: unseen.join('') } };
      }
      if (!state?.writing) return yield* endReply(store, state, place);
    }
  } finally {
    stopListening();
    signal.removeEventListener('abort', looks.end);
  }
}

/** A place between two parts of a reply: the number of the next part, and the length of those before it. */
interface Place {
  next: number;
  /** In UTF-16 units, as a string is cut. */
  length: number;
  /** In characters, as the database counts. */
  characters: number;
}

function movePast({ next, length, characters }: Place, parts: string[]): Place {
  const text = parts.join('');
  return { next: next + parts.length, length: length + text.length, characters: characters + [...text].length };
}

/** The last events: the rest of a text whose parts are no longer kept, and how it ended. */
async function* endReply(
  store: FollowPorts['store'],
  state: ReplyState | null,
  { next, length, characters }: Place,
): AsyncGenerator<NumberedEvent> {
  const { answer } = state ?? {};
  if (!answer) {
    const message = state?.error ?? 'The chat session was deleted';
    return yield { id: next + 1, event: { type: 'error', message } };
  }
  const { id: message_id, usage, truncated } = answer;
  const has_rest = answer.characters > characters;
  if (has_rest)
    yield { id: next + 1, event: { load: async () => (await store.message(message_id))?.content.slice(length) ?? null } };
  const done = { type: 'done' as const, usage: usage!, message_id, ...(truncated ? { truncated } : {}) };
  yield { id: next + (has_rest ? 2 : 1), event: done };
}

import type { AttachedFile } from './attachments.ts';
import { SUMMARY_POSITION } from './compaction.ts';
import { dropExtras } from './extras.ts';
import { storable, type TranscriptMessage } from './transcript.ts';

/** A message of a turn before a run, with what its turn adds to it. */
export interface EarlierMessage extends TranscriptMessage {
  /** The number of its turn, from 1. */
  turn: number;
  /** Of a prompt: the files that it was given; null: none. */
  attachments: AttachedFile[] | null;
  /** Who wrote a reply: the provider that answered, and the model that was asked. */
  provider_id: string | null;
  model: string | null;
}

/** The conversation in which a run is a turn; both absent or empty if it is in none. */
export interface ThreadContext {
  /** The number of the run among the turns; null: it is in no conversation. */
  thread_turn: number | null;
  earlier: readonly EarlierMessage[];
}

/** The model that a run asks: replies of others are sent without what only their maker can read. */
export interface Asked {
  provider_id: string | null;
  model: string | null;
}

/** The place of a summary, if it is in a turn before the run that made it. */
interface SummaryPlace {
  turn: number;
  step: number;
  position: number;
}

/**
 * Returns what the model of a run reads: the messages of the turns before, then its own. In a conversation each message has its turn,
 * and the ids of calls name it, so that they are unique, and what was sent for a turn is the beginning of what is sent for the next one.
 */
export function buildThreadTranscript(
  { thread_turn, earlier }: ThreadContext,
  own: readonly TranscriptMessage[],
  asked: Asked,
): TranscriptMessage[] {
  if (thread_turn === null) return [...own];
  const placed = [...readEarlier(earlier, asked), ...own.map((message) => ({ ...message, turn: thread_turn }))].map(toPlaced);
  return placed.sort((a, b) => a.turn - b.turn || a.step - b.step || a.position - b.position);
}

const readEarlier = (earlier: readonly EarlierMessage[], asked: Asked) =>
  dropExtras(earlier, ({ provider_id, model }) => provider_id === asked.provider_id && model === asked.model).map(
    ({ attachments: _files, provider_id: _provider, model: _model, ...message }) => message,
  );

/**
 * Returns a summary as the run that makes it keeps it: one that stands in a turn before is a message of this run nevertheless, with its
 * place as its data, because other turns may continue that one.
 */
export function toOwnSummary(
  summary: TranscriptMessage,
  { thread_turn, messages }: Pick<ThreadContext, 'thread_turn'> & { messages: readonly TranscriptMessage[] },
): TranscriptMessage {
  const { turn, step, position } = summary;
  if (turn === undefined || turn === thread_turn) return summary;
  const kept = messages.filter(({ kind }) => kind === 'summary').length;
  return { ...summary, step: 0, position: SUMMARY_POSITION + kept, extra: { turn, step, position } };
}

/** Gives the calls of a message their ids for the model, and a summary that stands in a turn before its own its place there. */
function toPlaced<M extends TranscriptMessage & { turn: number }>(message: M): M {
  const { turn, kind, extra, call_id, tool_calls } = message;
  if (kind === 'summary') return { ...message, ...(extra as SummaryPlace | null), extra: null };
  const toSentId = (id: string) => `${turn}-${id}`;
  return {
    ...message,
    call_id: call_id && toSentId(call_id),
    tool_calls: tool_calls?.map((call) => ({ ...call, call_id: toSentId(call.call_id) })) ?? null,
  };
}

const TITLE_CHARACTERS = 80;
/** Returns the title of a thread that a message begins. */
export const toThreadTitle = (message: string): string =>
  storable([...message.trim()].slice(0, TITLE_CHARACTERS).join('').trim());

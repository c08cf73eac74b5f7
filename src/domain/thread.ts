import type { AttachedFile } from './attachments.ts';
import { SUMMARY_POSITION } from './compaction.ts';
import type { TranscriptMessage } from './transcript.ts';

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

/** Whom a run asks: replies of others are sent without what only their maker can read. */
export interface Asked {
  provider_id: string | null;
  model: string | null;
}

/** The place up to which a summary reaches, if that is in an earlier turn. */
export interface Coverage {
  turn: number;
  step: number;
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
  const placed = [...earlier.map((message) => toReadable(message, asked)), ...own.map((message) => ({ ...message, turn: thread_turn }))].map((message) => ({
    message: nameTurn(message),
    place: toPlace(message),
  }));
  return placed.sort((a, b) => comparePlaces(a.place, b.place)).map(({ message }) => message);
}

function toReadable({ attachments: _files, provider_id, model, ...message }: EarlierMessage, asked: Asked) {
  const is_own = message.kind === 'summary' || (provider_id === asked.provider_id && model === asked.model);
  return is_own ? message : { ...message, extra: null };
}

type Place = readonly [turn: number, step: number, position: number];

const comparePlaces = (a: Place, b: Place): number => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];

/** A summary of earlier turns stands where it reaches to: what it covers comes before. */
function toPlace({ kind, extra, turn, step, position }: TranscriptMessage & { turn: number }): Place {
  const covered = kind === 'summary' ? (extra as Coverage | null) : null;
  return covered ? [covered.turn, covered.step, SUMMARY_POSITION + turn] : [turn, step, position];
}

const nameTurn = <M extends TranscriptMessage & { turn: number }>(message: M): M => ({
  ...message,
  call_id: message.call_id && toSentId(message.turn, message.call_id),
  tool_calls: message.tool_calls?.map((call) => ({ ...call, call_id: toSentId(message.turn, call.call_id) })) ?? null,
});

const toSentId = (turn: number, call_id: string) => `${turn}-${call_id}`;

import { estimateTokens, MESSAGE_TOKENS } from './context-window.ts';
import type { TranscriptMessage } from './transcript.ts';

/*
 * A summary stands at a place of a turn. It covers everything before it except what that turn was asked and given to know: this stays as
 * long as the turn's rounds are not all covered. So a summary that was written while a turn was at work reads the same in later turns.
 */

/** The position of a summary among the messages of the last step it covers: after its reminder. */
export const SUMMARY_POSITION = 200_000;

/** The position of a summary that covers earlier turns only, among the messages of step 0 of its turn: before its context. */
export const EARLIER_TURNS_POSITION = -3;

/** Returns the position of the summary for a cut. */
export const getSummaryPosition = ({ step }: Pick<Cut, 'step'>): number =>
  step === 0 ? EARLIER_TURNS_POSITION : SUMMARY_POSITION;

/** Returns the part of a transcript that the model reads: the last summary, what its turn was asked, and everything after it. */
export function sinceSummary(messages: readonly TranscriptMessage[]): TranscriptMessage[] {
  const last = messages.findLastIndex(({ kind }) => kind === 'summary');
  if (last < 0) return [...messages];
  return [...listStanding(messages.slice(0, last), messages[last]!), ...messages.slice(last)];
}

/** Returns the number of tokens of messages. */
type Measure = (messages: readonly TranscriptMessage[]) => number;

export const transcriptSize: Measure = (messages) =>
  messages.reduce((sum, { content, tool_calls }) => sum + MESSAGE_TOKENS + estimateTokens(content) + callTokens(tool_calls), 0);

const callTokens = (calls: TranscriptMessage['tool_calls']) =>
  (calls ?? []).reduce((sum, { name, arguments: args }) => sum + estimateTokens(name) + estimateTokens(args) + MESSAGE_TOKENS, 0);

export interface Cut {
  /** The messages that the summary covers. */
  older: TranscriptMessage[];
  /** The messages read after the summary, in whole rounds: a call is never separated from its results. */
  recent: TranscriptMessage[];
  /** The turn of the last step that the summary covers; absent: there is only one turn. */
  turn?: number;
  /** The last step that the summary covers; 0: it covers the turns before. */
  step: number;
}

/**
 * Splits what the model reads between two rounds, so that about `keep_tokens` remain. The latest round always remains, and so does what the
 * last turn was asked. An earlier turn, of which a round remains, is not separated from its prompt either. Returns null if nothing is older.
 */
export function findCompactionCut(
  read: readonly TranscriptMessage[],
  keep_tokens: number,
  measure: Measure = transcriptSize,
): Cut | null {
  const rounds = listRounds(read);
  const own: Round = { turn: read.at(-1)?.turn, step: 1 };
  // The last turn may have no round yet.
  if (rounds.length === 0 || rounds[0]!.turn !== own.turn) rounds.unshift(own);
  let first = rounds[0]!;
  let remaining_tokens = keep_tokens - measure(listAdded(read, first, first));
  for (const round of rounds.slice(1)) {
    remaining_tokens -= measure(listAdded(read, round, first));
    if (remaining_tokens < 0) break;
    first = round;
  }
  const standing = listStanding(read, first);
  const rest = read.filter((message) => !standing.includes(message));
  const recent = rest.filter((message) => message.kind !== 'summary' && compareRounds(message, first) >= 0);
  const older = rest.filter((message) => !recent.includes(message));
  const { turn, step } = first;
  return older.some(({ kind }) => kind !== 'summary') ? { older, recent, turn, step: step - 1 } : null;
}

/** Returns what the model reads once a summary has replaced the older messages of a cut. */
export function replaceOlder(read: readonly TranscriptMessage[], cut: Cut, summary: TranscriptMessage): TranscriptMessage[] {
  const standing = listStanding(read, cut);
  return cut.step === 0 ? [summary, ...standing, ...cut.recent] : [...standing, summary, ...cut.recent];
}

/** True for what a turn was asked, and for its context: neither is summarised as long as a round of its turn remains. */
export const isStanding = ({ kind, step }: TranscriptMessage) =>
  kind === 'prompt' || kind === 'context' || (kind === 'steer' && step === 0);

/** Lists what a turn was asked, and its context. */
export const listStanding = (messages: readonly TranscriptMessage[], { turn }: Pick<Round, 'turn'>): TranscriptMessage[] =>
  messages.filter((message) => isStanding(message) && message.turn === turn);

/** A step of a turn: a reply, and what followed it. */
type Round = Pick<Cut, 'turn' | 'step'>;

const isOfRound = (message: TranscriptMessage) => !isStanding(message) && message.kind !== 'summary';

const getTurn = ({ turn = 0 }: Pick<Round, 'turn'>) => turn;
const compareRounds = (a: Round, b: Round) => getTurn(a) - getTurn(b) || a.step - b.step;

/** Lists the rounds of messages, the newest first. */
function listRounds(messages: readonly TranscriptMessage[]): Round[] {
  const rounds = messages.filter(isOfRound).map(({ turn, step }): Round => ({ turn, step }));
  const sorted = rounds.sort((a, b) => compareRounds(b, a));
  return sorted.filter((round, index) => index === 0 || compareRounds(round, sorted[index - 1]!) !== 0);
}

/** Returns the messages of a round, and what the turns from its own up to the one of the `next` round were asked. */
const listAdded = (messages: readonly TranscriptMessage[], round: Round, next: Round): TranscriptMessage[] =>
  messages.filter((message) =>
    isOfRound(message)
      ? compareRounds(message, round) === 0
      : isStanding(message) && getTurn(message) >= getTurn(round) && getTurn(message) < getTurn(next),
  );

export const SUMMARY_INSTRUCTIONS =
  'You keep the notes of an agent at work. Summarise the work below for the agent, which continues with the summary instead of it: ' +
  'what was asked, what was found out (with names, numbers, paths and identifiers as they are), what was done, what is open.';

const LONGEST = 8_000;
const SHORTEST = 200;
const CHARACTERS_PER_TOKEN = 4;

/**
 * Formats the part of a conversation that is summarised, as one text of about `most_tokens` at most: each message is cut, and if they are
 * too many, the latest count.
 */
export function formatForSummary(older: readonly TranscriptMessage[], most_tokens = Number.POSITIVE_INFINITY): string {
  const most = Math.max(SHORTEST, Math.floor((most_tokens - estimateTokens(SUMMARY_INSTRUCTIONS)) * CHARACTERS_PER_TOKEN));
  const text = formatMessages(older, LONGEST);
  if (estimateTokens(text) <= most_tokens) return text;
  const longest = Math.max(SHORTEST, Math.min(LONGEST, Math.floor(most / (2 * older.length))));
  return formatMessages(older, longest).slice(-most).toWellFormed();
}

const formatMessages = (older: readonly TranscriptMessage[], longest: number): string =>
  older
    .map(({ role, kind, content, tool_calls }) => {
      const calls = (tool_calls ?? []).map(({ name, arguments: args }) => `calls ${name}(${truncate(args, longest)})`);
      const who = kind === 'summary' ? 'notes so far' : role === 'tool' ? 'tool result' : role;
      return [`${who}: ${truncate(content, longest)}`, ...calls].join('\n');
    })
    .join('\n\n');

const truncate = (text: string, longest: number) => (text.length > longest ? `${text.slice(0, longest)} […]` : text);

export const summaryMessage = (text: string) => `Notes on the work so far, which replace its older messages:\n\n${text}`;

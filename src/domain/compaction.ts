import { estimateTokens, MESSAGE_TOKENS } from './context-window.ts';
import type { TranscriptMessage } from './transcript.ts';

/** The position of a summary among the messages of the last step it covers: after its reminder. */
export const SUMMARY_POSITION = 200_000;

/** Returns the part of a transcript that the model reads: the goal, and everything from the last summary. */
export function sinceSummary(messages: readonly TranscriptMessage[]): TranscriptMessage[] {
  const last = messages.findLastIndex(({ kind }) => kind === 'summary');
  if (last < 0) return [...messages];
  return [...messages.slice(0, last).filter(isStanding), ...messages.slice(last)];
}

export const transcriptSize = (messages: readonly TranscriptMessage[]): number =>
  messages.reduce((sum, { content, tool_calls }) => sum + MESSAGE_TOKENS + estimateTokens(content) + callTokens(tool_calls), 0);

const callTokens = (calls: TranscriptMessage['tool_calls']) =>
  (calls ?? []).reduce((sum, { name, arguments: args }) => sum + estimateTokens(name) + estimateTokens(args) + MESSAGE_TOKENS, 0);

export interface Cut {
  /** The messages that the summary covers. */
  older: TranscriptMessage[];
  /** The messages read after the summary, in whole rounds: a call is never separated from its results. */
  recent: TranscriptMessage[];
  /** The last step that the summary covers. */
  step: number;
}

/**
 * Splits what the model reads between two rounds, so that about `keep_tokens` remain; the latest round always remains. Returns
 * null if nothing is older.
 */
export function findCompactionCut(read: readonly TranscriptMessage[], keep_tokens: number): Cut | null {
  const steps = [...new Set(read.filter(isOfRound).map(({ step }) => step))].sort((a, b) => b - a);
  let first = steps[0];
  if (first === undefined) return null;
  let remaining_tokens = keep_tokens - transcriptSize(ofStep(read, first));
  for (const step of steps.slice(1)) {
    remaining_tokens -= transcriptSize(ofStep(read, step));
    if (remaining_tokens < 0) break;
    first = step;
  }
  const recent = read.filter((message) => isOfRound(message) && message.step >= first);
  const older = read.filter((message) => !isStanding(message) && !recent.includes(message));
  return older.some(isOfRound) ? { older, recent, step: first - 1 } : null;
}

/** True for the goal and its context, which are never summarised. */
export const isStanding = ({ kind }: TranscriptMessage) => kind === 'prompt' || kind === 'context';
const isOfRound = (message: TranscriptMessage) => !isStanding(message) && message.kind !== 'summary';
const ofStep = (messages: readonly TranscriptMessage[], step: number) =>
  messages.filter((message) => isOfRound(message) && message.step === step);

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

import { estimateTokens } from './context-window.ts';
import { formatMessage } from './conversation.ts';
import type { TranscriptMessage } from './transcript.ts';

/** The most characters that are quoted of what a tool was sent, or has returned. */
const LONGEST = 8_000;
/** The most tokens of the whole text, about half of the smallest window of the models that are sent it. */
const MOST_TOKENS = 100_000;

const INTRODUCTION = 'The conversation before the next message:';
const LEFT_OUT = '[Its beginning is left out.]';

/**
 * Returns earlier turns as one text, for a provider that keeps the conversation itself and takes part only from now on; null if there are
 * none. If they are too long, the latest messages count.
 */
export function formatEarlierTurns(messages: readonly TranscriptMessage[]): string | null {
  const quoted = messages.map(formatEarlier).filter((text) => text !== null);
  if (quoted.length === 0) return null;
  const latest: string[] = [];
  let remaining_tokens = MOST_TOKENS;
  for (const text of quoted.toReversed()) {
    remaining_tokens -= estimateTokens(text);
    if (remaining_tokens < 0) break;
    latest.unshift(text);
  }
  return [INTRODUCTION, ...(latest.length < quoted.length ? [LEFT_OUT] : []), ...latest].join('\n');
}

function formatEarlier({ role, content, tool_calls }: TranscriptMessage): string | null {
  const calls = (tool_calls ?? []).map(({ name, arguments: args }) => `[calls ${name}(${truncate(args)})]`);
  const text = [role === 'tool' ? truncate(content) : content, ...calls].filter((part) => part !== '').join('\n');
  return text === '' ? null : formatMessage({ role, text });
}

const truncate = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST).toWellFormed()} […]` : text);

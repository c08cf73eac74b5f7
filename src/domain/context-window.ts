import { KNOWN_MODELS, type KnownModel } from './known-models.ts';

/**
 * Returns the context window of a model in tokens: the provider's setting, otherwise that of the known model with this or the
 * most similar name, otherwise the fallback.
 */
export function resolveContextWindow(model: string | null, { set, fallback }: { set: number | null; fallback: number }): number {
  if (set !== null) return set;
  if (!model) return fallback;
  return findKnownModel(model)?.context_window ?? usualWindow(plainName(model)) ?? fallback;
}

/**
 * Finds the catalogue's entry of a model, ignoring any release, date or address around its name: `openai/gpt-4o-2024-08-06` is
 * `gpt-4o`. Returns null if there is none.
 */
export function findKnownModel(model: string): KnownModel | null {
  const name = plainName(model);
  const candidates = KNOWN_MODELS.filter(
    ([id]) => name === id || (name.startsWith(id) && '-:@'.includes(name[id.length] as string)),
  );
  return (
    candidates.reduce<(typeof candidates)[number] | null>(
      (best, entry) => (best && best[0].length > entry[0].length ? best : entry),
      null,
    )?.[1] ?? null
  );
}

const plainName = (model: string) => model.toLowerCase().split('/').at(-1) ?? '';

/** The shortest common beginning that identifies a model family. */
const FAMILY_LETTERS = 4;

/** Returns the window that is most frequent among the known models whose names share the longest beginning with this one. */
function usualWindow(name: string): number | null {
  const shared = KNOWN_MODELS.map(([id, { context_window }]) => ({ letters: lettersInCommon(id, name), context_window }));
  const most = Math.max(...shared.map(({ letters }) => letters));
  if (most < FAMILY_LETTERS) return null;
  const family = shared.filter(({ letters }) => letters === most);
  const window_counts = [...Map.groupBy(family, ({ context_window }) => context_window)].map(([window, { length }]) => ({
    window,
    length,
  }));
  window_counts.sort((a, b) => b.length - a.length || a.window - b.window);
  return window_counts[0]?.window ?? null;
}

function lettersInCommon(a: string, b: string): number {
  let count = 0;
  while (count < a.length && a[count] === b[count]) count += 1;
  return count;
}

const BYTES_PER_TOKEN = 4;
/** The tokens that a message costs in addition to its text. */
export const MESSAGE_TOKENS = 4;

/** Estimates how many tokens a text has. The model's tokenizer is not available here, so four bytes count as one token. */
export function estimateTokens(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : 1.5;
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Returns the latest messages that fit, in order, beginning with a user's message; the last message is always included. */
export function latestThatFit<M extends { role: string; content: string }>(messages: readonly M[], tokens: number): M[] {
  let remaining_tokens = tokens;
  let from = messages.length - 1;
  for (let index = from; index >= 0; index -= 1) {
    remaining_tokens -= estimateTokens(messages[index]!.content) + MESSAGE_TOKENS;
    if (remaining_tokens < 0) break;
    if (messages[index]!.role === 'user') from = index;
  }
  return messages.slice(Math.max(0, from));
}

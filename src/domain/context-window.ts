/** Tokens that models can read, by the beginning of their names; the longest that fits counts. */
const WINDOWS: [prefix: string, tokens: number][] = [
  ['gpt-3.5', 16_385],
  ['gpt-4', 8_192],
  ['gpt-4-turbo', 128_000],
  ['gpt-4o', 128_000],
  ['gpt-4.1', 1_047_576],
  ['gpt-4.5', 128_000],
  ['gpt-5', 400_000],
  ['o1', 200_000],
  ['o3', 200_000],
  ['o4', 200_000],
  ['claude', 200_000],
  ['gemini', 1_048_576],
  ['llama-3', 128_000],
  ['mistral', 128_000],
  ['qwen', 128_000],
  ['deepseek', 128_000],
];

/** Of one model: what its provider is set to, else what is known of its name, else the fallback. */
export function contextWindowOf(model: string | null, { set, fallback }: { set: number | null; fallback: number }): number {
  if (set !== null) return set;
  const name = (model ?? '').toLowerCase().split('/').at(-1) ?? '';
  const known = WINDOWS.filter(([prefix]) => name.startsWith(prefix)).sort(([a], [b]) => b.length - a.length);
  return known[0]?.[1] ?? fallback;
}

const BYTES_PER_TOKEN = 4;
/** What a message costs beside its text. */
export const MESSAGE_TOKENS = 4;

/** About how many tokens a text has; without the model's own tokenizer, four bytes are taken for one. */
export function tokensOf(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : 1.5;
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The latest messages that fit, in order, beginning with one of the user's; the last one always does. */
export function latestThatFit<M extends { role: string; content: string }>(messages: readonly M[], tokens: number): M[] {
  let left = tokens;
  let from = messages.length - 1;
  for (let index = from; index >= 0; index -= 1) {
    left -= tokensOf(messages[index]!.content) + MESSAGE_TOKENS;
    if (left < 0) break;
    if (messages[index]!.role === 'user') from = index;
  }
  return messages.slice(Math.max(0, from));
}

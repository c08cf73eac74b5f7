/** A message of a conversation. The role `instructions` is for one that holds for its own turn only. */
export interface SaidMessage {
  role: string;
  text: string;
}

/** The messages that a prompt was made of: the role and the length of each. */
export type PromptParts = [role: string, length: number][];

const opening = (role: string) => `<message role="${role === INSTRUCTIONS ? 'system' : role}">\n`;
const CLOSING = '\n</message>';
const BETWEEN = '\n';
const BEFORE_LAST = '\n\n';

export const INSTRUCTIONS = 'instructions';

/** Turns a conversation into one prompt: the last message, with the earlier ones as context. */
export function promptOfConversation(said: readonly SaidMessage[]): { prompt: string; parts: PromptParts } {
  const parts = said.map(({ role, text }): PromptParts[number] => [role, text.length]);
  const last = said.at(-1)?.text ?? '';
  const before = said.slice(0, -1).map(({ role, text }) => `${opening(role)}${text}${CLOSING}`);
  return { prompt: before.length > 0 ? `${before.join(BETWEEN)}${BEFORE_LAST}${last}` : last, parts };
}

/** The conversation that a prompt was made of, without instructions. A prompt that has no parts on record is one message. */
export function conversationIn(prompt: string, parts: PromptParts | null): SaidMessage[] {
  const said: SaidMessage[] = [];
  let at = 0;
  for (const [index, [role, length]] of (parts ?? []).entries()) {
    const is_last = index === parts!.length - 1;
    const start = at + (is_last ? 0 : opening(role).length);
    said.push({ role, text: prompt.slice(start, start + length) });
    const after = index === parts!.length - 2 ? BEFORE_LAST : BETWEEN;
    at = start + length + (is_last ? 0 : CLOSING.length + after.length);
  }
  const whole = said.length > 0 && at === prompt.length;
  return whole ? said.filter(({ role }) => role !== INSTRUCTIONS) : [{ role: 'user', text: prompt }];
}

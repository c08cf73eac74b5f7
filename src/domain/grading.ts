import { canonicalJson } from './canonical-json.ts';

/** The answer as the text that patterns and schemas are applied to. */
export const gradedText = (answer: unknown): string => (typeof answer === 'string' ? answer : JSON.stringify(answer ?? null));

/** Why an answer is not the expected one; null if it is. Texts are compared without the space around them. */
export function difference(answer: unknown, expected: unknown, { ignore_case }: { ignore_case: boolean }): string | null {
  if (expected === null || expected === undefined)
    return 'The item has no expected answer; delete it and add it again with `expected`';
  const [given, wanted] = [answer, expected].map((value) => {
    const text = typeof value === 'string' ? value.trim() : canonicalJson(value);
    return ignore_case ? text.toLowerCase() : text;
  });
  return given === wanted ? null : 'The answer is not the expected one';
}

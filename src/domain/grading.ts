import { canonicalJson } from './canonical-json.ts';

/** Returns the answer as the text that patterns and schemas are applied to. */
export const toGradedText = (answer: unknown): string => (typeof answer === 'string' ? answer : JSON.stringify(answer));

/** Returns the reason an answer is not the expected one; null if it is. Leading and trailing space is ignored. */
export function difference(answer: unknown, expected: unknown, { ignore_case }: { ignore_case: boolean }): string | null {
  if (expected === null || expected === undefined)
    return 'The item has no expected answer; delete it and add it again with `expected`';
  const [answer_text, expected_text] = [answer, expected].map((value) => {
    const content = unwrapResponse(value);
    const text = typeof content === 'string' ? content.trim() : canonicalJson(content);
    return ignore_case ? text.toLowerCase() : text;
  });
  return answer_text === expected_text ? null : 'The answer is not the expected one';
}

/** Returns the text of an answer that should have been JSON and was not: `parseResponse` wraps such a text in an object. */
function unwrapResponse(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.keys(value).join() !== 'response') return value;
  const { response } = value as { response?: unknown };
  return typeof response === 'string' ? response : value;
}

import { findRepeatedName, isExactNumber, parseExact } from './exact-json.ts';
import { findWholeJson } from './json-answers.ts';
import { isRecord } from './records.ts';

type ParsedArguments = { arguments: Record<string, unknown> } | { refusal: string };

const NOTHING = ['', 'null', '[]', '""', 'None'];
/** How often a text may contain another JSON text. */
const DEEPEST = 3;

/**
 * Parses the arguments that a model wrote, and keeps integers exact. Rejects a repeated name: a person would see one value and
 * the tool would get the other. An empty text, null and an empty list mean no arguments. JSON may be in a fence or in a text, and its
 * object in a list; in prose its meaning is not certain.
 */
export function parseArguments(text: string, depth = 0): ParsedArguments {
  const plain = findWholeJson(text) ?? text;
  if (NOTHING.includes(plain.trim())) return { arguments: {} };
  try {
    const value = parseExact(plain);
    const repeated_name = findRepeatedName(plain);
    if (repeated_name !== null)
      return {
        refusal: `The arguments name ${JSON.stringify(repeated_name)} twice, so the call was not carried out; name it once`,
      };
    if (typeof value === 'string' && depth < DEEPEST) return parseArguments(value, depth + 1);
    const [only, ...others] = Array.isArray(value) ? value : [value];
    if (isRecord(only) && !isExactNumber(only) && others.length === 0) return { arguments: only };
    return { refusal: 'The arguments must be a JSON object' };
  } catch (error) {
    if (depth > 0) return { refusal: 'The arguments must be a JSON object' };
    return { refusal: `The arguments are not valid JSON (${(error as Error).message}); send one JSON object` };
  }
}

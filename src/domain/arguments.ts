import { findRepeatedName, parseExact } from './exact-json.ts';

type ParsedArguments = { arguments: Record<string, unknown> } | { refusal: string };

/**
 * Parses the arguments that a model wrote, and keeps integers exact. Rejects a repeated name: a person would see one value and
 * the tool would get the other. An empty text means no arguments.
 */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === '') return { arguments: {} };
  try {
    const value = parseExact(text);
    const repeated_name = findRepeatedName(text);
    if (repeated_name !== null)
      return {
        refusal: `The arguments name ${JSON.stringify(repeated_name)} twice, so the call was not carried out; name it once`,
      };
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { arguments: value as Record<string, unknown> };
    return { refusal: 'The arguments must be a JSON object' };
  } catch (error) {
    return { refusal: `The arguments are not valid JSON (${(error as Error).message}); send one JSON object` };
  }
}

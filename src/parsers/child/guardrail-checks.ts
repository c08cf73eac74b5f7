import { compilePattern, findMatches, redactSpans, type Span } from './patterns.ts';
import { findPersonalData } from './pii.ts';
import { schemaCheck } from './schema.ts';

/** The configurations of all kinds of guardrail; every field is optional. */
export interface GuardrailConfig {
  forbidden_patterns?: string[];
  required_patterns?: string[];
  min_length?: number | null;
  max_length?: number | null;
  json_schema?: Record<string, unknown>;
  pii_detection?: boolean;
  must_be_valid_json?: boolean;
  action?: 'block' | 'redact' | 'warn';
}

interface Order {
  config: GuardrailConfig;
  text: string;
}

/** Returns the objections of a prompt guardrail to a text, without quoting it. */
export const checkPrompt = ({ config, text }: Order): string[] => findBreaches(config, text).reasons;

/** Returns the objections of a request guardrail to a text. */
export function checkRequest({ config, text }: Order): string[] {
  const value = tryParseJson(text);
  if (value === undefined) return ['it is not JSON'];
  const error = schemaCheck(config.json_schema ?? {})(value);
  return error ? [error] : [];
}

/** Returns the objections of an output guardrail to an answer, and the redacted answer if redacting is its action. */
export function checkAnswer({ config, text }: Order): { reasons: string[]; redacted: string | null } {
  const { reasons, spans } = findBreaches(config, text);
  if (config.pii_detection) {
    const personal = findPersonalData(text);
    // Not `push(...personal)`: a call takes only so many arguments.
    for (const span of personal) spans.push(span);
    const kinds = [...new Set(personal.map(({ kind }) => kind))];
    if (kinds.length > 0) reasons.push(`it holds personal data (${kinds.join(', ')})`);
  }
  if (config.must_be_valid_json && tryParseJson(text) === undefined) reasons.push('it is not valid JSON');
  const redacts = config.action === 'redact' && reasons.length > 0;
  return { reasons, redacted: redacts ? truncate(redactSpans(text, spans), config.max_length) : null };
}

function findBreaches(
  { forbidden_patterns = [], required_patterns = [], min_length, max_length }: GuardrailConfig,
  text: string,
) {
  const reasons: string[] = [];
  const spans: Span[] = [];
  for (const source of forbidden_patterns) {
    let match_count = 0;
    for (const span of findMatches(compilePattern(source), text)) match_count = spans.push(span);
    if (match_count > 0) reasons.push(`it matches the forbidden pattern ${source}`);
  }
  for (const source of required_patterns) {
    if (!compilePattern(source).matcher(text).find()) reasons.push(`it does not match the required pattern ${source}`);
  }
  const length = [...text].length;
  if (typeof min_length === 'number' && length < min_length)
    reasons.push(`it has ${length} characters, at least ${min_length} are asked`);
  if (typeof max_length === 'number' && length > max_length)
    reasons.push(`it has ${length} characters, at most ${max_length} are allowed`);
  return { reasons, spans };
}

const truncate = (text: string, max: number | null | undefined) =>
  typeof max === 'number' ? [...text].slice(0, max).join('') : text;

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Lists the faults of a guardrail's patterns and schema, by field. */
export function listConfigFaults(config: GuardrailConfig): { path: string; message: string }[] {
  const errors: { path: string; message: string }[] = [];
  const attempt = (path: string, work: () => unknown) => {
    try {
      work();
    } catch (error) {
      errors.push({ path, message: (error as Error).message });
    }
  };
  for (const field of ['forbidden_patterns', 'required_patterns'] as const) {
    const patterns = config[field] ?? [];
    for (const [index, source] of patterns.entries()) attempt(`config.${field}.${index}`, () => compilePattern(source));
  }
  const { json_schema } = config;
  if (json_schema) attempt('config.json_schema', () => schemaCheck(json_schema));
  return errors;
}

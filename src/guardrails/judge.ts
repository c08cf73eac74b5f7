import type { PinnedGuardrail } from '../domain/definition.ts';
import { matchesOf, patternOf, redacted, type Span } from './patterns.ts';
import { personalDataIn } from './pii.ts';
import { schemaCheck } from './schema.ts';

export interface Finding {
  guardrail: string;
  action: 'block' | 'redact' | 'warn';
  /** Why, without quoting the text. */
  reasons: string[];
}

/** What becomes of an answer: the text to let through, or null when it is withheld. */
export interface Verdict {
  findings: Finding[];
  text: string | null;
}

interface Limits {
  forbidden_patterns?: string[];
  required_patterns?: string[];
  min_length?: number | null;
  max_length?: number | null;
}

interface OutputConfig extends Limits {
  pii_detection?: boolean;
  must_be_valid_json?: boolean;
  action?: Finding['action'];
}

/** Why a prompt may not be sent, naming the guardrail; null when it may. */
export function refusalOf(guardrails: readonly PinnedGuardrail[], prompt: string): string | null {
  for (const guardrail of guardrails) {
    const [reason] = promptReasons(guardrail, prompt);
    if (reason) return `The guardrail ${guardrail.name} refuses this prompt: ${reason}`;
  }
  return null;
}

/** What a prompt or request guardrail has against a prompt. */
export function promptReasons({ guardrail_type, config }: PinnedGuardrail, prompt: string): string[] {
  if (guardrail_type === 'prompt') return breaches(config as Limits, prompt).reasons;
  if (guardrail_type !== 'request') return [];
  const value = jsonOf(prompt);
  if (value === undefined) return ['it is not JSON'];
  const fault = schemaCheck((config as { json_schema?: Record<string, unknown> }).json_schema ?? {})(value);
  return fault ? [fault] : [];
}

/** What holds for a final answer alone; what leads to it need be neither complete nor JSON. */
const FINAL = { required_patterns: [], must_be_valid_json: false };

/** Judges an answer by every output guardrail, each seeing what the one before let through. */
export function verdictOf(guardrails: readonly PinnedGuardrail[], answer: string, { final = true } = {}): Verdict {
  const findings: Finding[] = [];
  let text: string | null = answer;
  for (const guardrail of guardrails) {
    if (guardrail.guardrail_type !== 'output' || text === null) continue;
    const config: OutputConfig = { ...guardrail.config, ...(final ? {} : FINAL) };
    const { reasons, spans } = outputBreaches(config, text);
    if (reasons.length === 0) continue;
    const action = config.action ?? 'warn';
    findings.push({ guardrail: guardrail.name, action, reasons });
    if (action === 'block') text = null;
    if (action === 'redact' && text !== null) text = shortened(redacted(text, spans), config.max_length);
  }
  return { findings, text };
}

/** Whether an answer must be judged whole before any of it is shown. */
export const holdsBack = (guardrails: readonly PinnedGuardrail[]) =>
  guardrails.some(({ guardrail_type, config }) => {
    return guardrail_type === 'output' && ((config as OutputConfig).action ?? 'warn') !== 'warn';
  });

function outputBreaches(config: OutputConfig, text: string): { reasons: string[]; spans: Span[] } {
  const { reasons, spans } = breaches(config, text);
  if (config.pii_detection) {
    const personal = personalDataIn(text);
    spans.push(...personal);
    const kinds = [...new Set(personal.map(({ kind }) => kind))];
    if (kinds.length > 0) reasons.push(`it holds personal data (${kinds.join(', ')})`);
  }
  if (config.must_be_valid_json && jsonOf(text) === undefined) reasons.push('it is not valid JSON');
  return { reasons, spans };
}

function breaches({ forbidden_patterns = [], required_patterns = [], min_length, max_length }: Limits, text: string) {
  const reasons: string[] = [];
  const spans: Span[] = [];
  for (const source of forbidden_patterns) {
    const found = [...matchesOf(patternOf(source), text)];
    spans.push(...found);
    if (found.length > 0) reasons.push(`it matches the forbidden pattern ${source}`);
  }
  for (const source of required_patterns) {
    if (!patternOf(source).matcher(text).find()) reasons.push(`it does not match the required pattern ${source}`);
  }
  const length = [...text].length;
  if (typeof min_length === 'number' && length < min_length)
    reasons.push(`it has ${length} characters, at least ${min_length} are asked`);
  if (typeof max_length === 'number' && length > max_length)
    reasons.push(`it has ${length} characters, at most ${max_length} are allowed`);
  return { reasons, spans };
}

const shortened = (text: string, max: number | null | undefined) =>
  typeof max === 'number' ? [...text].slice(0, max).join('') : text;

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What is wrong with a guardrail's patterns and schema, by field. */
export function faultsOf(config: Record<string, unknown>): { path: string; message: string }[] {
  const faults: { path: string; message: string }[] = [];
  const attempt = (path: string, work: () => unknown) => {
    try {
      work();
    } catch (error) {
      faults.push({ path, message: (error as Error).message });
    }
  };
  for (const field of ['forbidden_patterns', 'required_patterns']) {
    const patterns = (config[field] ?? []) as string[];
    for (const [index, source] of patterns.entries()) attempt(`config.${field}.${index}`, () => patternOf(source));
  }
  if (config.json_schema) attempt('config.json_schema', () => schemaCheck(config.json_schema as Record<string, unknown>));
  return faults;
}

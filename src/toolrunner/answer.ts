import { redactor } from '../domain/redaction.ts';
import type { ChildFrame } from './frame.ts';
import type { ToolAnswer } from './runner.ts';

const RESULT_LIMIT = 1_048_576;
const MESSAGE_LIMIT = 8_000;

/** Converts the frame into an answer under the interface's result rules, with the call's secrets redacted. */
export function toAnswer(frame: ChildFrame, env: Record<string, string>, duration_ms: number): ToolAnswer {
  const redact = redactor(Object.values(env));
  const outcome = toOutcome(frame);
  const error = outcome.error === null ? null : redact.text(outcome.error);
  return {
    result: outcome.result !== null ? redact.json(outcome.result) : toErrorJson(error!),
    error,
    duration_ms,
    stdout: redact.output(storable(frame.stdout), frame.stdout_bytes),
    stderr: redact.output(storable(frame.stderr), frame.stderr_bytes),
  };
}

/** Creates the answer for a call that did not reach a tool process. */
export function createFailedAnswer(error: string, duration_ms = 0): ToolAnswer {
  return { result: toErrorJson(error), error, duration_ms, stdout: '', stderr: '' };
}

function toErrorJson(error: string): string {
  return JSON.stringify({ error });
}

const toFailure = (error: string): Outcome => ({ result: null, error });

type Outcome = { result: string; error: null } | { result: null; error: string };

function toOutcome(frame: ChildFrame): Outcome {
  switch (frame.kind) {
    case 'returned':
      return parseResult(frame.text);
    case 'raised':
      return toFailure(parseMessage(frame.text));
    case 'too_large':
      return toFailure(`the result is larger than ${RESULT_LIMIT} bytes`);
    case 'timed_out':
      return toFailure('timed out');
    case 'out_of_memory':
      return toFailure('out of memory');
    case 'too_many_processes':
      return toFailure('the tool started too many processes');
    case 'too_much_data':
      return toFailure('the tool wrote too much data');
    case 'refused':
      return toFailure(frame.message);
    case 'ended':
      return toFailure(describeExit(frame.exit));
    default:
      return toFailure('the tool returned invalid data');
  }
}

/**
 * Checks that a result is JSON, because a tool can write to its own reply. The text stays unchanged, since numbers may exceed a
 * double.
 */
function parseResult(text: string): Outcome {
  if (Buffer.byteLength(text) > RESULT_LIMIT) return toFailure(`the result is larger than ${RESULT_LIMIT} bytes`);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return toFailure('the tool returned invalid data');
    return { result: storableJson(text), error: null };
  } catch {
    return toFailure('the tool returned invalid data');
  }
}

function parseMessage(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'string') return storable(value.slice(0, MESSAGE_LIMIT));
  } catch {
    // The tool forged this reply, so it is passed on unchanged.
  }
  return storable(text.slice(0, MESSAGE_LIMIT));
}

function describeExit(exit: number | null): string {
  if (exit === null) return 'the tool process ended without a result';
  return exit < 0
    ? `the tool process was ended by signal ${-exit}`
    : `the tool process ended without a result (exit code ${exit})`;
}

/** Replaces NUL and lone surrogates, which Postgres cannot store. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

/** Replaces NUL and lone surrogates in JSON text, where escapes hide them. */
function storableJson(text: string): string {
  const escapes = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})|\\./g;
  return text.toWellFormed().replace(escapes, (match) => (match.length === 6 ? '\ufffd' : match));
}

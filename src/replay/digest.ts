import { createHash } from 'node:crypto';
import type { Exchange } from '../runtimes/runtime.ts';

/** JSON with its keys in one order: databases and schemas keep another than programs. */
export const canonical = (value: unknown): string => JSON.stringify(sorted(value)) ?? 'null';

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

/** A fingerprint of all that a model is given in an exchange. */
export function digestOf({ model, instructions, transcript, tools, reasoning_effort, wants_json }: Exchange): string {
  const messages = transcript.map(({ role, kind, content, tool_calls, call_id, extra }) => {
    return { role, kind, content, tool_calls, call_id, extra: extra ?? null };
  });
  const whole = canonical({ model, instructions, messages, tools, reasoning_effort, wants_json });
  return createHash('sha256').update(whole).digest('hex');
}

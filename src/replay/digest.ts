import { createHash } from 'node:crypto';
import { canonicalJson } from '../domain/canonical-json.ts';
import type { Exchange } from '../runtimes/runtime.ts';

/** A fingerprint of everything a model receives in an exchange. */
export function digestOf({
  model,
  instructions,
  transcript,
  tools,
  reasoning_effort,
  wants_json,
  call_settings,
}: Exchange): string {
  const messages = transcript.map(({ role, kind, content, tool_calls, call_id, extra }) => {
    return { role, kind, content, tool_calls, call_id, extra: extra ?? null };
  });
  const whole = canonicalJson({ model, instructions, messages, tools, reasoning_effort, wants_json, call_settings });
  return createHash('sha256').update(whole).digest('hex');
}

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
  output_schema,
  call_settings,
}: Exchange): string {
  const messages = transcript.map(({ role, kind, content, tool_calls, call_id, extra }) => {
    return { role, kind, content, tool_calls, call_id, extra: extra ?? null };
  });
  const schema = output_schema ? { output_schema } : {};
  const whole = canonicalJson({ model, instructions, messages, tools, reasoning_effort, wants_json, call_settings, ...schema });
  return createHash('sha256').update(whole).digest('hex');
}

import { createHash } from 'node:crypto';
import { canonicalJson } from '../domain/canonical-json.ts';
import type { Exchange } from '../runtimes/runtime.ts';

/** Returns a fingerprint of everything that a model receives in an exchange. */
export function digestExchange({
  model,
  instructions,
  transcript,
  tools,
  reasoning_effort,
  wants_json,
  output_schema,
  call_settings,
  must_call,
  hosted_tools,
}: Exchange): string {
  const messages = transcript.map(({ role, kind, content, tool_calls, call_id, extra }) => {
    return { role, kind, content, tool_calls, call_id, extra: extra ?? null };
  });
  const rules = {
    ...(output_schema ? { output_schema } : {}),
    ...(must_call ? { must_call } : {}),
    ...(hosted_tools ? { hosted_tools } : {}),
  };
  const whole = canonicalJson({ model, instructions, messages, tools, reasoning_effort, wants_json, call_settings, ...rules });
  return createHash('sha256').update(whole).digest('hex');
}

import type { Redactor } from '../domain/redaction.ts';
import type { ToolOutcome } from '../tools/source.ts';
import type { ModelRuntime } from './runtime.ts';

/** Wraps a model whose text may contain secrets: its endpoint's, and those that tools returned to it. */
export function redactRuntime(runtime: ModelRuntime, redact: Redactor): ModelRuntime {
  const { end } = runtime;
  const rejectRedacted = (error: unknown) => Promise.reject(redact.error(error));
  return {
    async exchange(input, emit, signal) {
      const text = redact.stream(emit);
      try {
        const { reply, cursor } = await runtime.exchange(input, text.push, signal);
        text.end({ cut: false });
        const calls = reply.calls.map((call) => ({ ...redact.value(call), arguments: redact.json(call.arguments) }));
        return { reply: { ...redact.value(reply), calls }, cursor };
      } catch (error) {
        text.end({ cut: true });
        return rejectRedacted(error);
      }
    },
    ...(end ? { end: (run, signal) => end(run, signal).catch(rejectRedacted) } : {}),
  };
}

/** Redacts a tool's result and output, or the reason why it was unreachable. */
export async function redactOutcome(call: Promise<ToolOutcome>, redact: Redactor): Promise<ToolOutcome> {
  const outcome = await call.catch((error: unknown) => Promise.reject(redact.error(error)));
  return { ...redact.value(outcome), content: redact.json(outcome.content) };
}

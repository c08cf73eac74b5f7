import { tryDecodeUtf8 } from '../domain/attachments.ts';
import type { Redactor } from '../domain/redaction.ts';
import type { ToolFile, ToolOutcome } from '../tools/source.ts';
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
  const { files, ...texts } = outcome;
  return {
    ...redact.value(texts),
    content: redact.json(outcome.content),
    ...(files && { files: files.map((file) => redactFile(file, redact)) }),
  };
}

/** Redacts the name of a file, and its content if that is text. */
function redactFile({ name, media_type, content }: ToolFile, redact: Redactor): ToolFile {
  const text = tryDecodeUtf8(content);
  return {
    name: redact.text(name),
    media_type,
    content: text === null ? content : Buffer.from(redact.text(text)),
  };
}

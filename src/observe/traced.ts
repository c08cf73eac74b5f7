import { type Attributes, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Exchange, ModelRuntime } from '../runtimes/runtime.ts';
import type { ActivityPorts } from '../temporal/activities/index.ts';
import type { ToolOutcome } from '../tools/source.ts';

// Asked for each span: a tracer that is kept stays with the provider of its first span, which may have been closed since.
const openTracer = () => trace.getTracer('perdura');

interface Traced<T> {
  name: string;
  kind: SpanKind;
  attributes: Attributes;
  /** Adds attributes that are known only at the end. */
  end(span: Span, result: T): void;
}

async function withSpan<T>({ name, kind, attributes, end }: Traced<T>, work: () => Promise<T>): Promise<T> {
  return openTracer().startActiveSpan(name, { kind, attributes }, async (span) => {
    try {
      const result = await work();
      end(span, result);
      return result;
    } catch (error) {
      fail(span, errorType(error));
      throw error;
    } finally {
      span.end();
    }
  });
}

const errorType = (error: unknown): string => {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'error';
};

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

export interface ModelPlace {
  task_id: string;
  /** The kind of the provider; the installation's own endpoint has none. */
  provider: string | undefined;
  /** True if the span contains the text that the model reads and writes. */
  content: boolean;
}

/** Adds a `chat` span for each model call, following the semantic conventions for generative AI. */
export function traceRuntime(runtime: ModelRuntime, { task_id, provider, content }: ModelPlace): ModelRuntime {
  return {
    ...runtime,
    exchange(input, emit, signal) {
      const name = `chat ${input.model ?? 'default'}`;
      const attributes: Attributes = {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': providerName(provider),
        'perdura.task_id': task_id,
        ...(input.model ? { 'gen_ai.request.model': input.model } : {}),
        ...(content ? toInputAttributes(input) : {}),
      };
      const end: Traced<Awaited<ReturnType<ModelRuntime['exchange']>>>['end'] = (span, { reply }) => {
        const { total_in, total_out, cache_read, cache_write } = reply.usage;
        span.setAttributes({
          'gen_ai.response.finish_reasons': [reply.finish],
          'gen_ai.usage.input_tokens': total_in,
          'gen_ai.usage.output_tokens': total_out,
          'gen_ai.usage.cache_read.input_tokens': cache_read,
          'gen_ai.usage.cache_creation.input_tokens': cache_write,
          ...(reply.model ? { 'gen_ai.response.model': reply.model } : {}),
          ...(content ? { 'gen_ai.output.messages': formatOutput(reply) } : {}),
        });
      };
      return withSpan({ name, kind: SpanKind.CLIENT, attributes, end }, () => runtime.exchange(input, emit, signal));
    },
  };
}

/** Returns the provider's name in the conventions. The installation's own endpoint has no type and uses OpenAI's protocol. */
const providerName = (type = 'openai') => PROVIDER_NAMES[type] ?? type;
const PROVIDER_NAMES: Record<string, string> = { azure_openai: 'azure.ai.openai', anthropic_messages: 'anthropic' };

const toInputAttributes = ({ instructions, transcript }: Exchange): Attributes => ({
  'gen_ai.system_instructions': JSON.stringify([{ type: 'text', content: instructions }]),
  'gen_ai.input.messages': JSON.stringify(transcript.map(({ role, content }) => ({ role, parts: [{ type: 'text', content }] }))),
});

type Reply = Awaited<ReturnType<ModelRuntime['exchange']>>['reply'];

const formatOutput = ({ text, calls, finish }: Reply): string => {
  const call_parts = calls.map(({ id, name, arguments: args }) => ({ type: 'tool_call', id, name, arguments: args }));
  const parts = [...(text ? [{ type: 'text', content: text }] : []), ...call_parts];
  return JSON.stringify([{ role: 'assistant', parts, finish_reason: finish }]);
};

/** Wraps the activities' ports with a span around each call of a model and of a tool. */
export function tracePorts(ports: ActivityPorts, { content }: { content: boolean }): ActivityPorts {
  return {
    ...ports,
    async openRuntime(run, definition, begun) {
      const selection = await ports.openRuntime(run, definition, begun);
      const provider = definition.provider?.provider_type;
      return { ...selection, runtime: traceRuntime(selection.runtime, { task_id: run.task_id, provider, content }) };
    },
    async selectAnswerer(run, definition) {
      const selection = await ports.selectAnswerer(run, definition);
      const provider = definition.provider?.provider_type;
      return { ...selection, runtime: traceRuntime(selection.runtime, { task_id: run.task_id, provider, content }) };
    },
    perform(call, args, signal) {
      const attributes: Attributes = {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': call.name,
        'gen_ai.tool.call.id': call.call_id,
        'perdura.task_id': call.task_id,
        ...(content ? { 'gen_ai.tool.call.arguments': JSON.stringify(args) } : {}),
      };
      const end = (span: Span, outcome: ToolOutcome) => {
        if (content) span.setAttribute('gen_ai.tool.call.result', outcome.content);
        if (outcome.failed) fail(span, 'tool_failed');
      };
      const about = { name: `execute_tool ${call.name}`, kind: SpanKind.INTERNAL, attributes, end };
      return withSpan(about, () => ports.perform(call, args, signal));
    },
  };
}

import type { Attributes, Context } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor, TimedEvent } from '@opentelemetry/sdk-trace-base';

/**
 * The attributes of spans that may leave the process: names and numbers that no user typed as content. Everything else is
 * dropped.
 */
const ALLOWED = [
  /^http\.(?:request\.method|route|response\.status_code)$/,
  /^(?:server|network)\.\w+(?:\.\w+)?$/,
  /^url\.scheme$/,
  /^error\.type$/,
  /^exception\.type$/,
  /^fastify\.(?:root|type)$/,
  /^temporal\w+Id$/,
  /^(?:run_id|runId|workflowId|workflowType|taskQueue|attempt)$/,
  /^gen_ai\./,
  /^perdura\./,
];

/** The text that the model reads and writes; exported only if the operator enables it. */
const CONTENT = /^gen_ai\.(?:input\.messages|output\.messages|system_instructions|tool\.call\.(?:arguments|result))$/;
/** Free text of errors, which may quote content. */
const TEXT = /^exception\.message$/;
const TEXT_CHARACTERS = 2_000;

interface Cleaning {
  content: boolean;
  /** Redacts the secrets that the current work has opened. */
  redact(text: string): string;
}

/** Cleans spans before another processor exports them, whichever instrumentation created them. */
export function cleanSpans(next: SpanProcessor, cleaning: Cleaning): SpanProcessor {
  return {
    onStart: (span: Span, context: Context) => next.onStart(span, context),
    onEnd: (span) => next.onEnd(cleanSpan(span, cleaning)),
    forceFlush: () => next.forceFlush(),
    shutdown: () => next.shutdown(),
  };
}

function cleanSpan(span: ReadableSpan, cleaning: Cleaning): ReadableSpan {
  const { content, redact } = cleaning;
  const { name, attributes } = describeRun(span);
  const { code, message } = span.status;
  const status = content && message ? { code, message: redact(message).slice(0, TEXT_CHARACTERS) } : { code };
  const events = span.events.map((event): TimedEvent => ({ ...event, attributes: cleanAttributes(event.attributes!, cleaning) }));
  const clean = { name: redact(name), attributes: cleanAttributes(attributes, cleaning), status, events };
  return Object.create(span, Object.getOwnPropertyDescriptors(clean)) as ReadableSpan;
}

function cleanAttributes(attributes: Attributes, { content, redact }: Cleaning): Attributes {
  const result: Attributes = {};
  for (const [key, value] of Object.entries(attributes)) {
    const free = CONTENT.test(key) || TEXT.test(key);
    if (free ? !content : !ALLOWED.some((pattern) => pattern.test(key))) continue;
    if (typeof value === 'string') result[key] = redact(value);
    else if (Array.isArray(value))
      result[key] = value.map((item) => (typeof item === 'string' ? redact(item) : item)) as string[];
    else if (typeof value === 'number' || typeof value === 'boolean') result[key] = value;
  }
  return result;
}

/** The name that Temporal's interceptor gives to the span of a run. */
const RUN = 'RunWorkflow:agentRun';

/** Renames the span of a whole run to the conventions' `invoke_agent`. The engine's search attributes name the agent. */
function describeRun({ name, attributes }: ReadableSpan): { name: string; attributes: Attributes } {
  if (name !== RUN) return { name, attributes };
  const search_attributes = (attributes as Record<string, unknown>).searchAttributes as
    | Record<string, string[] | undefined>
    | undefined;
  const agent = search_attributes?.PerduraAgent?.[0];
  const conversation = search_attributes?.PerduraWorkflowId?.[0];
  return {
    name: agent ? `invoke_agent ${agent}` : 'invoke_agent',
    attributes: {
      ...attributes,
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': agent,
      'gen_ai.conversation.id': conversation,
    },
  };
}

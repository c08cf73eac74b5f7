import { SpanKind } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { expect, it } from 'vitest';
import { cleanSpans } from '../../src/observe/spans.ts';

const redact = (text: string) => text.replaceAll('canary', '[redacted]');

/** What is exported of a span that an instrumentation filled with everything it knows. */
function exported({ content }: { content: boolean }) {
  const exporter = new InMemorySpanExporter();
  const processor = cleanSpans(new SimpleSpanProcessor(exporter), { content, redact });
  const tracer = new BasicTracerProvider({ spanProcessors: [processor] }).getTracer('test');
  const span = tracer.startSpan('POST canary', { kind: SpanKind.CLIENT });
  span.setAttributes({
    'http.request.method': 'POST',
    'server.address': 'hooks.example',
    'url.full': 'https://hooks.example/secret?token=secret',
    'url.path': '/secret',
    'url.query': 'token=secret',
    'http.request.header.authorization': 'secret',
    'db.statement': 'SELECT secret',
    'perdura.task_id': 't1',
    'gen_ai.request.model': 'canary-1',
    'gen_ai.response.finish_reasons': ['stop', 'canary'],
    'gen_ai.input.messages': 'a prompt with a canary',
    'gen_ai.tool.call.arguments': 'arguments',
  });
  span.recordException(new Error('the words of an error with a canary'));
  span.setStatus({ code: 2, message: 'the words of an error with a canary' });
  span.end();
  const [found] = exporter.getFinishedSpans();
  return found!;
}

it('drops whatever is not on the list: addresses, headers, SQL, content and the words of errors', () => {
  const span = exported({ content: false });
  const { name, attributes, status, events, kind } = span;
  expect(attributes).toEqual({
    'http.request.method': 'POST',
    'server.address': 'hooks.example',
    'perdura.task_id': 't1',
    'gen_ai.request.model': '[redacted]-1',
    'gen_ai.response.finish_reasons': ['stop', '[redacted]'],
  });
  expect(name).toBe('POST [redacted]');
  expect(status).toEqual({ code: 2 });
  expect(events.map((event) => event.attributes)).toEqual([{ 'exception.type': 'Error' }]);
  expect(kind).toBe(SpanKind.CLIENT);
  expect(span.spanContext().traceId).toMatch(/^[0-9a-f]{32}$/);
});

it('keeps content and the words of errors if the operator asks for them, without secrets', () => {
  const { attributes, status, events } = exported({ content: true });
  expect(attributes).toMatchObject({
    'gen_ai.input.messages': 'a prompt with a [redacted]',
    'gen_ai.tool.call.arguments': 'arguments',
  });
  expect(attributes).not.toHaveProperty('url.full');
  expect(status).toEqual({ code: 2, message: 'the words of an error with a [redacted]' });
  expect(events[0]?.attributes).toMatchObject({ 'exception.message': 'the words of an error with a [redacted]' });
});

/** The span that Temporal's interceptor makes of a run. Its attributes are not only those that the conventions allow. */
function exportedRun(attributes: object): ReadableSpan {
  const spans: ReadableSpan[] = [];
  const keep = { onEnd: (span: ReadableSpan) => spans.push(span) } as unknown as SimpleSpanProcessor;
  const run = { name: 'RunWorkflow:agentRun', attributes, status: { code: 1 }, events: [] } as unknown as ReadableSpan;
  cleanSpans(keep, { content: false, redact }).onEnd(run);
  return spans[0]!;
}

it('names a run by its agent and its conversation, as far as the engine knows them', () => {
  const operation = { 'gen_ai.operation.name': 'invoke_agent' };
  const labels = { PerduraAgent: ['clerk'], PerduraWorkflowId: ['w1'] };
  expect(exportedRun({ searchAttributes: labels, run_id: 'r1' })).toMatchObject({
    name: 'invoke_agent clerk',
    attributes: { ...operation, run_id: 'r1', 'gen_ai.agent.name': 'clerk', 'gen_ai.conversation.id': 'w1' },
  });
  const unlabelled = exportedRun({});
  expect([unlabelled.name, unlabelled.attributes]).toEqual(['invoke_agent', operation]);
});

it('keeps numbers and truth values, alone and in lists, and no objects', () => {
  const { attributes } = exportedRun({
    'perdura.steps': 7,
    'perdura.live': false,
    'perdura.sizes': [3, 5],
    'perdura.secret': { key: 'canary' },
  });
  expect(attributes).toEqual({
    ...{ 'gen_ai.operation.name': 'invoke_agent', 'perdura.steps': 7 },
    ...{ 'perdura.live': false, 'perdura.sizes': [3, 5] },
  });
});

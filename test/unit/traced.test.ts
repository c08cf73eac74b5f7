import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { tracePorts, traceRuntime } from '../../src/observe/traced.ts';
import { exchangeOf } from '../runtimes/support.ts';

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
beforeEach(() => exporter.reset());
afterAll(() => trace.disable());

const signal = new AbortController().signal;
const usage = { total_in: 1_009, total_out: 211, cache_read: 307, cache_write: 53 };
const reply = {
  ...{ text: 'The answer.', finish: 'tool_calls', model: 'by', usage, extra: null },
  calls: [{ id: 'c1', name: 'look', arguments: '{"at":1}' }],
};
const answering = { exchange: async () => ({ reply, cursor: null }) };

/** The only span that work has ended, if it has ended any other. */
async function spanOf(work: Promise<unknown>) {
  await work.catch(() => {});
  const [span, ...others] = exporter.getFinishedSpans();
  expect(others).toEqual([]);
  return span!;
}

const ask = (place: { provider?: string; content?: boolean; model?: string | null } = {}, runtime: object = answering) => {
  const { provider, content = false, model = 'asked' } = place;
  const traced = traceRuntime(runtime as never, { task_id: 't', provider, content });
  return spanOf(traced.exchange(exchangeOf({ model }), () => {}, signal));
};

describe('the span of a call of a model', () => {
  it('has what was asked for, who answered, and each figure under its own name', async () => {
    const { name, kind, attributes, status } = await ask({ provider: 'openai_compatible' });
    expect([name, kind, status]).toEqual(['chat asked', SpanKind.CLIENT, { code: SpanStatusCode.UNSET }]);
    expect(attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai_compatible',
      'perdura.task_id': 't',
      'gen_ai.request.model': 'asked',
      'gen_ai.response.model': 'by',
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'gen_ai.usage.input_tokens': 1_009,
      'gen_ai.usage.output_tokens': 211,
      'gen_ai.usage.cache_read.input_tokens': 307,
      'gen_ai.usage.cache_creation.input_tokens': 53,
    });
  });

  it.each([
    [undefined, 'openai'],
    ['openai', 'openai'],
    ['azure_openai', 'azure.ai.openai'],
    ['anthropic', 'anthropic'],
    ['anthropic_messages', 'anthropic'],
  ])('names a provider of the type %s by the conventions: %s', async (provider, name) => {
    expect((await ask(provider ? { provider } : {})).attributes['gen_ai.provider.name']).toBe(name);
  });

  it('has no model that nobody named', async () => {
    const { name, attributes } = await ask({ model: null }, { exchange: async () => ({ reply: { ...reply, model: null } }) });
    expect(name).toBe('chat default');
    expect(Object.keys(attributes).filter((key) => key.endsWith('.model'))).toEqual([]);
  });

  it('has what was said only if the operator asks for that', async () => {
    const { attributes } = await ask({ content: true });
    expect(JSON.parse(attributes['gen_ai.system_instructions'] as string)).toMatchObject([{ type: 'text' }]);
    expect(JSON.parse(attributes['gen_ai.input.messages'] as string)).not.toEqual([]);
    expect(JSON.parse(attributes['gen_ai.output.messages'] as string)).toEqual([
      {
        role: 'assistant',
        parts: [
          { type: 'text', content: 'The answer.' },
          { type: 'tool_call', id: 'c1', name: 'look', arguments: '{"at":1}' },
        ],
        finish_reason: 'tool_calls',
      },
    ]);
  });

  it('has the calls alone if nothing was said', async () => {
    const { attributes } = await ask(
      { content: true },
      { exchange: async () => ({ reply: { ...reply, text: '' }, cursor: null }) },
    );
    const [message] = JSON.parse(attributes['gen_ai.output.messages'] as string);
    expect(message.parts.map(({ type }: { type: string }) => type)).toEqual(['tool_call']);
  });

  it.each([
    [Object.assign(new Error('down'), { code: 'model_unreachable' }), 'model_unreachable'],
    [new TypeError('ours'), 'TypeError'],
    [{}, 'error'],
  ])('ends with the type of a failure: %s', async (error, type) => {
    const span = await ask({}, { exchange: () => Promise.reject(error) });
    expect([span.status.code, span.attributes['error.type']]).toEqual([SpanStatusCode.ERROR, type]);
    expect(span.ended).toBe(true);
  });
});

it('sends a span to the tracing that is open, although an earlier one was closed', async () => {
  await ask();
  const earlier = exporter.getFinishedSpans().length;
  trace.disable();
  const later = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(later)] }));
  await traceRuntime(answering as never, { task_id: 't', provider: undefined, content: false }).exchange(
    exchangeOf({}),
    () => {},
    signal,
  );
  trace.disable();
  trace.setGlobalTracerProvider(provider);
  expect([earlier, exporter.getFinishedSpans().length, later.getFinishedSpans().length]).toEqual([1, 1, 1]);
});

describe('the ports of the activities', () => {
  const call = { name: 'look', call_id: '3-1', task_id: 't' };
  const portsOf = (content: boolean, perform: () => Promise<unknown>) =>
    tracePorts(
      {
        openRuntime: async () => ({ runtime: answering, keeps_context: true }),
        selectAnswerer: async () => ({ runtime: answering, keeps_context: false }),
        perform,
      } as never,
      { content },
    );
  const perform = (content: boolean, work: () => Promise<unknown>) =>
    spanOf(portsOf(content, work).perform(call as never, { at: 1 }, signal));
  const found = async () => ({ content: 'seen', failed: false });

  it('have a span for each call of a tool, without its content', async () => {
    const { name, kind, attributes } = await perform(false, found);
    expect([name, kind]).toEqual(['execute_tool look', SpanKind.INTERNAL]);
    expect(attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.call.id': '3-1',
      'perdura.task_id': 't',
    });
  });

  it('have what a tool was given and returned if the operator asks for that', async () => {
    expect((await perform(true, found)).attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"at":1}',
      'gen_ai.tool.call.result': 'seen',
    });
  });

  it('mark a tool that failed, and one that could not be reached', async () => {
    const failed = await perform(false, async () => ({ content: 'no', failed: true }));
    expect([failed.status.code, failed.attributes['error.type']]).toEqual([SpanStatusCode.ERROR, 'tool_failed']);
    exporter.reset();
    const lost = await perform(false, () => Promise.reject(Object.assign(new Error('x'), { name: 'ToolUnreachable' })));
    expect([lost.status.code, lost.attributes['error.type']]).toEqual([SpanStatusCode.ERROR, 'ToolUnreachable']);
  });

  it.each(['openRuntime', 'selectAnswerer'] as const)('have a span for each call of the model of %s', async (name) => {
    const ports = portsOf(true, found);
    const definition = { provider: { provider_type: 'azure_openai' } } as never;
    const run = { task_id: 't' } as never;
    const { runtime, keeps_context } = await (name === 'openRuntime'
      ? ports.openRuntime(run, definition, Promise.resolve())
      : ports.selectAnswerer(run, definition));
    expect(keeps_context).toBe(name === 'openRuntime');
    const { attributes } = await spanOf(runtime.exchange(exchangeOf({ model: 'asked' }), () => {}, signal));
    expect(attributes).toMatchObject({ 'gen_ai.provider.name': 'azure.ai.openai', 'perdura.task_id': 't' });
    expect(attributes).toHaveProperty('gen_ai.output.messages');
  });
});

import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DemoReply } from './demo-reply.ts';
import type { DemoRequest } from './demo-request.ts';

export interface Delivery {
  ttft_ms: number;
  itl_ms: number;
  /** True: breaks the connection in the middle of the answer. */
  cut: boolean;
}

export interface Turn {
  request: DemoRequest;
  reply: DemoReply;
  delivery: Delivery;
}

/** Splits text into tokens: each word with its trailing blanks counts as one, here and in the usage. */
const splitTokens = (text: string): string[] => text.match(/\S+\s*|\s+/g) ?? [];

interface Outcome {
  tokens: string[];
  calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  finish_reason: 'stop' | 'length' | 'tool_calls';
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

export async function createCompletion({ request, reply, delivery }: Turn) {
  const { tokens, calls, finish_reason, usage } = toOutcome(request, reply);
  await sleep(delivery.ttft_ms);
  const message = { role: 'assistant', content: calls.length > 0 ? null : tokens.join(''), refusal: null };
  return {
    ...buildHead(request, 'chat.completion'),
    choices: [
      { index: 0, message: { ...message, ...(calls.length > 0 && { tool_calls: calls }) }, logprobs: null, finish_reason },
    ],
    usage,
  };
}

/** Streams a completion. Ends with an error if the client disconnects. */
export async function streamCompletion({ request, reply, delivery }: Turn, response: ServerResponse): Promise<void> {
  const disconnect = new AbortController();
  response.once('close', () => disconnect.abort());
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
  const frames = buildFrames(request, reply).map((frame) => `data: ${JSON.stringify(frame)}\n\n`);
  if (delivery.ttft_ms > 0) await sleep(delivery.ttft_ms, undefined, { signal: disconnect.signal });
  await write(response, delivery.cut ? frames.slice(0, frames.length / 2) : frames, { ...delivery, signal: disconnect.signal });
  if (delivery.cut) response.destroy();
  else response.end('data: [DONE]\n\n');
}

async function write(
  response: ServerResponse,
  frames: readonly string[],
  pace: { itl_ms: number; signal: AbortSignal },
): Promise<void> {
  const { itl_ms, signal } = pace;
  if (itl_ms === 0) return void response.write(frames.join(''));
  for (const frame of frames) {
    response.write(frame);
    await sleep(itl_ms, undefined, { signal });
  }
}

function buildFrames(request: DemoRequest, reply: DemoReply): object[] {
  const { tokens, calls, finish_reason, usage } = toOutcome(request, reply);
  const with_usage = request.stream_options?.include_usage === true;
  const head = { ...buildHead(request, 'chat.completion.chunk'), ...(with_usage && { usage: null }) };
  const frame = (delta: object, finish: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });
  const deltas = calls.length > 0 ? calls.flatMap(toCallDeltas) : tokens.map((content) => ({ content }));
  const opening = { role: 'assistant', content: calls.length > 0 ? null : '' };
  const closing = with_usage ? [{ ...head, choices: [], usage }] : [];
  return [frame(opening), ...deltas.map((delta) => frame(delta)), frame({}, finish_reason), ...closing];
}

/** Splits arguments into pieces, as a real model does. */
function toCallDeltas(call: Outcome['calls'][number], index: number): object[] {
  const { name, arguments: text } = call.function;
  const opening = { index, ...call, function: { name, arguments: '' } };
  const pieces = Array.from(text.matchAll(/.{1,16}/gsu), ([piece]) => ({ index, function: { arguments: piece } }));
  return [opening, ...pieces].map((part) => ({ tool_calls: [part] }));
}

function toOutcome(request: DemoRequest, { calls, text }: DemoReply): Outcome {
  const limit = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY;
  const all = splitTokens(text);
  const tokens = all.slice(0, limit);
  const prompt_tokens = Math.ceil(JSON.stringify(request.messages).length / 4);
  const completion_tokens =
    calls.length > 0 ? calls.reduce((sum, call) => sum + 8 + Math.ceil(call.arguments.length / 4), 0) : tokens.length;
  const numbered = calls.map((call) => ({ id: `call_${randomUUID()}`, type: 'function' as const, function: call }));
  const stop = tokens.length < all.length ? 'length' : 'stop';
  return {
    tokens,
    calls: numbered,
    finish_reason: calls.length > 0 ? 'tool_calls' : stop,
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  };
}

/** Builds the common fields of all chunks. The time is constant, so that replies do not depend on the clock. */
const buildHead = ({ model }: DemoRequest, object: string) => ({
  id: `chatcmpl-${randomUUID()}`,
  object,
  created: 1_735_689_600,
  model,
});

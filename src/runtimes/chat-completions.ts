import type OpenAI from 'openai';
import type { TranscriptMessage } from '../domain/transcript.ts';
import type { ExchangeUsage } from '../domain/usage.ts';
import { modelFailureOf, withoutSecret } from './failures.ts';
import { type Exchange, ModelFailure, type ModelRuntime, type Reply } from './runtime.ts';

type Chunk = OpenAI.Chat.Completions.ChatCompletionChunk;
type Message = OpenAI.Chat.Completions.ChatCompletionMessageParam;

interface ChatCompletionsOptions {
  client: OpenAI;
  /** Used where the exchange names no model. */
  default_model: string | null;
  /** A stream that is silent for so long is given up. */
  idle_ms?: number;
}

const IDLE_MS = 120_000;

/** OpenAI-style chat completions, streamed. The transcript is sent whole each time, so there is no cursor. */
export function chatCompletions({ client, default_model, idle_ms = IDLE_MS }: ChatCompletionsOptions): ModelRuntime {
  return {
    async exchange(input, emit, signal) {
      const model = input.model ?? default_model;
      if (!model) {
        throw new ModelFailure('No model is named by the workflow, the agent or the provider; set one of them', {
          code: 'no_model',
          recoverable: false,
        });
      }
      const watch = idleWatch(idle_ms, signal);
      try {
        const stream = await client.chat.completions.create(requestOf(input, model), { signal: watch.signal });
        const reply = await replyOf(stream, (delta) => emit(delta), watch.touch);
        return { reply: checked(reply), cursor: null };
      } catch (error) {
        signal.throwIfAborted();
        if (watch.expired())
          throw new ModelFailure(`The model sent nothing for ${idle_ms / 1000} s`, { code: 'model_timeout', recoverable: true });
        throw withoutSecret(modelFailureOf(error), client.apiKey);
      } finally {
        watch.end();
      }
    },
  };
}

function requestOf({ instructions, transcript, tools, reasoning_effort, wants_json }: Exchange, model: string) {
  const system: Message[] = instructions ? [{ role: 'system', content: instructions }] : [];
  return {
    model,
    messages: [...system, ...transcript.map(messageOf)],
    stream: true as const,
    stream_options: { include_usage: true },
    ...(tools.length > 0
      ? {
          tools: tools.map(({ name, description, parameters }) => ({
            type: 'function' as const,
            function: { name, description, parameters },
          })),
        }
      : {}),
    ...(reasoning_effort ? { reasoning_effort: reasoning_effort as 'low' } : {}),
    // Many endpoints refuse JSON mode beside tools.
    ...(wants_json && tools.length === 0 ? { response_format: { type: 'json_object' as const } } : {}),
  };
}

function messageOf({ role, content, tool_calls, call_id, extra }: TranscriptMessage): Message {
  if (role === 'tool') return { role, content, tool_call_id: call_id ?? '' };
  if (role === 'user' || role === 'system') return { role, content };
  const calls = tool_calls?.map((call) => ({
    id: call.call_id,
    type: 'function' as const,
    function: { name: call.name, arguments: call.arguments },
  }));
  return { role, content: content || null, ...(calls?.length ? { tool_calls: calls } : {}), ...(extra as object | null) };
}

async function replyOf(stream: AsyncIterable<Chunk>, emit: (delta: string) => void, touch: () => void): Promise<Reply> {
  const reply: Reply = { text: '', calls: [], finish: '', model: null, usage: NO_USAGE, extra: null };
  let reasoning = '';
  for await (const chunk of stream) {
    touch();
    reply.model ??= chunk.model || null;
    if (chunk.usage) reply.usage = usageOf(chunk.usage);
    const [choice] = chunk.choices ?? [];
    if (!choice) continue;
    const { content, refusal, tool_calls, reasoning_content } = (choice.delta ?? {}) as typeof choice.delta & {
      reasoning_content?: string;
    };
    const text = content ?? refusal;
    if (text) {
      reply.text += text;
      emit(text);
    }
    if (reasoning_content) reasoning += reasoning_content;
    for (const part of tool_calls ?? []) gather(reply.calls, part);
    if (choice.finish_reason) reply.finish = choice.finish_reason;
  }
  reply.calls = reply.calls.filter(Boolean);
  if (reasoning && reply.calls.length > 0) reply.extra = { reasoning_content: reasoning };
  return reply;
}

type CallPart = NonNullable<Chunk['choices'][number]['delta']['tool_calls']>[number];

/** Calls arrive in pieces told apart by index; a piece with another id on the same index begins another call. */
function gather(calls: Reply['calls'], { index, id, function: piece }: CallPart): void {
  let place = index ?? Math.max(0, calls.length - 1);
  const before = calls[place]?.id;
  if (id && before && before !== id) place = calls.length;
  const call = calls[place] ?? { id: '', name: '', arguments: '' };
  calls[place] = call;
  call.id ||= id ?? '';
  call.name += piece?.name ?? '';
  call.arguments += piece?.arguments ?? '';
}

const NO_USAGE: ExchangeUsage = { total_in: 0, total_out: 0, cache_read: 0, cache_write: 0 };

const usageOf = ({ prompt_tokens, completion_tokens, prompt_tokens_details }: NonNullable<Chunk['usage']>): ExchangeUsage => ({
  total_in: prompt_tokens ?? 0,
  total_out: completion_tokens ?? 0,
  cache_read: prompt_tokens_details?.cached_tokens ?? 0,
  cache_write: 0,
});

/** What arrived without an error may still be no answer. */
function checked(reply: Reply): Reply {
  if (!reply.finish) {
    throw new ModelFailure('The model broke off its answer', { code: 'model_stream_cut', recoverable: true });
  }
  if (reply.finish === 'content_filter') {
    throw new ModelFailure("The provider's content filter stopped the answer", { code: 'content_filter', recoverable: false });
  }
  if (reply.calls.length === 0 && reply.text.trim() === '') {
    throw new ModelFailure('The model gave an empty answer', { code: 'empty_answer', recoverable: false });
  }
  return reply;
}

/** Aborts with the outer signal, and when nothing touched it for `idle_ms`. */
function idleWatch(idle_ms: number, outer: AbortSignal) {
  const idle = new AbortController();
  const timer = setTimeout(() => idle.abort(), idle_ms);
  return {
    signal: AbortSignal.any([outer, idle.signal]),
    touch: () => void timer.refresh(),
    expired: () => idle.signal.aborted,
    end: () => clearTimeout(timer),
  };
}

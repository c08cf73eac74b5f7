import type OpenAI from 'openai';
import { type Chunk, replyOf } from './chat-reply.ts';
import { chatRequest } from './chat-request.ts';
import { modelFailureOf } from './failures.ts';
import { ModelFailure, type ModelRuntime } from './runtime.ts';

interface ChatCompletionsOptions {
  client: OpenAI;
  /** Used if the exchange names no model. */
  default_model: string | null;
  /** A stream that is silent for this long is abandoned. */
  idle_ms?: number;
}

const IDLE_MS = 120_000;

/** Streamed OpenAI-style chat completions. Each request sends the whole transcript, so there is no cursor. */
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
        const asked = client.chat.completions.create(chatRequest(input, model), { signal: watch.signal });
        const { data, response } = await asked.withResponse();
        const chunks = isJson(response) ? wholeAnswer(response) : data;
        return { reply: await replyOf(chunks, { emit, touch: watch.touch }), cursor: null };
      } catch (error) {
        signal.throwIfAborted();
        if (watch.expired())
          throw new ModelFailure(`The model sent nothing for ${idle_ms / 1000} s`, { code: 'model_timeout', recoverable: true });
        throw modelFailureOf(error);
      } finally {
        watch.end();
      }
    },
  };
}

const isJson = ({ headers }: Response) => (headers.get('content-type') ?? '').includes('application/json');

/** Reads the reply of an endpoint that does not stream as a stream of one chunk. */
async function* wholeAnswer(response: Response): AsyncGenerator<Chunk> {
  const { choices, error, ...rest } = (await response.json()) as OpenAI.Chat.Completions.ChatCompletion & {
    error?: { message?: string };
  };
  if (error) {
    const message = `The model's endpoint answered: ${error.message ?? JSON.stringify(error)}`;
    throw new ModelFailure(message, { code: 'model_error', recoverable: true });
  }
  const [choice] = choices ?? [];
  if (!choice) throw new TypeError('the answer has no choices');
  const tool_calls = choice.message.tool_calls?.map((call, index) => ({ index, ...call }));
  const delta = { ...choice.message, tool_calls };
  yield { ...rest, choices: [{ index: 0, delta, finish_reason: choice.finish_reason }] } as unknown as Chunk;
}

/** Aborts with the outer signal, or after `idle_ms` without a touch. */
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

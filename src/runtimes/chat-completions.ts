import OpenAI from 'openai';
import { ModelFailure } from '../domain/model-failure.ts';
import type { Dialect } from '../domain/provider-presets.ts';
import { Misshapen } from '../domain/reason.ts';
import { isJson, refuseOtherAnswers } from './answer-type.ts';
import { readChunks } from './chat-chunks.ts';
import { type Chunk, collectReply } from './chat-reply.ts';
import { chatRequest } from './chat-request.ts';
import { noModel, toModelFailure } from './failures.ts';
import type { ModelRuntime } from './runtime.ts';

interface ChatCompletionsOptions {
  client: OpenAI;
  /** Used if the exchange names no model. */
  default_model: string | null;
  dialect: (model: string) => Dialect;
  /** Advice about a refusal, by its code. */
  advice?: Record<string, string>;
}

/** The caller enforces the deadlines of an exchange; the client's own timeout would end a longer one early. */
const NO_TIMEOUT = 2 ** 31 - 1;

/** Streamed OpenAI-style chat completions. Each request sends the whole transcript, so there is no cursor. */
export function chatCompletions({ client, default_model, dialect, advice }: ChatCompletionsOptions): ModelRuntime {
  return {
    async exchange(input, emit, signal) {
      const model = input.model ?? default_model;
      if (!model) throw noModel();
      try {
        const send = (request: ReturnType<typeof chatRequest>) =>
          client.chat.completions.create(request, { signal, timeout: NO_TIMEOUT }).asResponse();
        const request = chatRequest(input, model, dialect(model));
        const response = await send(request).catch((error: unknown) => {
          if (!refusesSchemas(error) || !input.output_schema) throw error;
          return send(chatRequest({ ...input, output_schema: undefined, wants_json: false }, model, dialect(model)));
        });
        await refuseOtherAnswers(response, 'a chat completion');
        const answer = collectReply({ emit, report: input.report, tools: input.tools });
        if (isJson(response)) answer.add(await wholeAnswer(response));
        else await readChunks(response, answer.add);
        return { reply: answer.reply(), cursor: null };
      } catch (error) {
        signal.throwIfAborted();
        throw toModelFailure(error, undefined, advice);
      }
    },
  };
}

/**
 * True if an endpoint does not support `response_format` with a schema. The instructions ask for the same, and the answer is
 * checked.
 */
const refusesSchemas = (error: unknown) =>
  error instanceof OpenAI.APIError &&
  (error.status === 400 || error.status === 422) &&
  /response_format|json_schema|structured/i.test(error.message);

/** Returns the reply of an endpoint that does not stream as the one chunk of a stream. */
async function wholeAnswer(response: Response): Promise<Chunk> {
  const { choices, error, ...rest } = (await response.json()) as OpenAI.Chat.Completions.ChatCompletion & {
    error?: { message?: string };
  };
  if (error) {
    const message = `The model's endpoint answered: ${error.message ?? JSON.stringify(error)}`;
    throw new ModelFailure(message, { code: 'model_error', recoverable: true });
  }
  const [choice] = choices ?? [];
  if (!choice) throw new Misshapen('the answer has no choices');
  const tool_calls = choice.message.tool_calls?.map((call, index) => ({ index, ...call }));
  const delta = { ...choice.message, tool_calls };
  return { ...rest, choices: [{ index: 0, delta, finish_reason: choice.finish_reason }] } as unknown as Chunk;
}

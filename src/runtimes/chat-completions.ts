import OpenAI from 'openai';
import type { Dialect } from '../domain/dialect.ts';
import { readAnswer } from './answer-body.ts';
import { collectReply } from './chat-reply.ts';
import { chatRequest } from './chat-request.ts';
import { noModel, toModelFailure } from './failures.ts';
import { askWhenLoaded } from './loading.ts';
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
          askWhenLoaded(() => client.chat.completions.create(request, { signal, timeout: NO_TIMEOUT }).asResponse(), signal);
        const request = chatRequest(input, model, dialect(model));
        const response = await send(request).catch((error: unknown) => {
          if (!refusesSchemas(error) || !input.output_schema) throw error;
          return send(chatRequest({ ...input, output_schema: undefined, wants_json: false }, model, dialect(model)));
        });
        const answer = collectReply({ emit, ...input });
        const end = await readAnswer(response, 'a chat completion', { onEvent: answer.add, onWhole: answer.addWhole });
        return { reply: answer.reply(end), cursor: null };
      } catch (error) {
        signal.throwIfAborted();
        throw toModelFailure(error, advice ? { advice } : {});
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

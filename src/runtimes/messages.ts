import Anthropic from '@anthropic-ai/sdk';
import { parseExact } from '../domain/exact-json.ts';
import { ModelFailure } from '../domain/model-failure.ts';
import type { Answered } from '../domain/usage.ts';
import { isJson, refuseOtherAnswers } from './answer-type.ts';
import { readChunks } from './chat-chunks.ts';
import { modelFailureOf, noModel } from './failures.ts';
import { vendorFailureOf } from './managed/failures.ts';
import { collectMessage, type MessageEvent } from './messages-reply.ts';
import { messagesRequest } from './messages-request.ts';
import type { ModelRuntime } from './runtime.ts';

/** The caller enforces the deadlines of an exchange. */
const NO_TIMEOUT = 2 ** 31 - 1;
const EXPECTED = 'an answer of the Messages API';

/** Anthropic's streamed Messages API. Each request sends the whole transcript, so there is no cursor. */
export function messagesRuntime({ client, default_model }: { client: Anthropic; default_model: string | null }): ModelRuntime {
  return {
    async exchange(input, emit, signal) {
      const model = input.model ?? default_model;
      if (!model) throw noModel();
      const answer = collectMessage(emit, input.report);
      try {
        const request = { ...messagesRequest(input, model), stream: true as const };
        const response = await client.messages.create(request, { signal, timeout: NO_TIMEOUT }).asResponse();
        await refuseOtherAnswers(response, EXPECTED);
        if (isJson(response))
          for (const event of eventsOf(parseExact(await response.text()) as Anthropic.Message)) answer.add(event);
        else await readChunks(response, answer.add);
        return { reply: answer.reply(), cursor: null };
      } catch (error) {
        signal.throwIfAborted();
        const failure = error instanceof Anthropic.AnthropicError ? vendorFailureOf(error) : modelFailureOf(error, EXPECTED);
        throw charged(failure, answer.spent());
      }
    },
  };
}

/** The vendor names the tokens of the request at once, and bills them however the answer ends. */
const charged = (failure: unknown, answer: Answered | null): unknown =>
  failure instanceof ModelFailure && answer && !failure.answer
    ? new ModelFailure(failure.message, { ...failure, answer })
    : failure;

/** The answer of an endpoint that does not stream as the events of a stream. */
const eventsOf = (message: Anthropic.Message): MessageEvent[] => [
  { type: 'message_start', message },
  ...message.content.map((content_block, index) => ({ type: 'content_block_start', index, content_block })),
  { type: 'message_delta', delta: { stop_reason: message.stop_reason } },
  { type: 'message_stop' },
];

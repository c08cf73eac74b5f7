import Anthropic from '@anthropic-ai/sdk';
import { parseExact } from '../domain/exact-json.ts';
import { ModelFailure } from '../domain/model-failure.ts';
import type { TranscriptMessage } from '../domain/transcript.ts';
import type { Answered } from '../domain/usage.ts';
import { isJson, refuseOtherAnswers } from './answer-type.ts';
import { readChunks } from './chat-chunks.ts';
import { noModel, toModelFailure } from './failures.ts';
import { toVendorFailure } from './managed/failures.ts';
import { collectMessage, type MessageEvent } from './messages-reply.ts';
import { messagesRequest } from './messages-request.ts';
import type { ModelReply, ModelRuntime } from './runtime.ts';

/** The caller enforces the deadlines of an exchange. */
const NO_TIMEOUT = 2 ** 31 - 1;
const EXPECTED = 'an answer of the Messages API';

/** The vendor pauses an answer after several calls of the tools that it runs. */
const MOST_REQUESTS = 8;
const TOO_MANY_PAUSES = `The model's vendor paused its answer ${MOST_REQUESTS} times to run more of its tools; set \`max_uses\` on them`;

/** Anthropic's streamed Messages API. Each request sends the whole transcript, so there is no cursor. */
export function messagesRuntime({ client, default_model }: { client: Anthropic; default_model: string | null }): ModelRuntime {
  return {
    async exchange(input, emit, signal) {
      const model = input.model ?? default_model;
      if (!model) throw noModel();
      const answer = collectMessage(emit, input.report);
      let current_input = input;
      try {
        for (let requests = 1; ; requests += 1) {
          const request = { ...messagesRequest(current_input, model), stream: true as const };
          await hear(await client.messages.create(request, { signal, timeout: NO_TIMEOUT }).asResponse(), answer.add);
          const paused = answer.getPausedReply();
          if (!paused) return { reply: answer.reply(), cursor: null };
          if (requests === MOST_REQUESTS) throw new ModelFailure(TOO_MANY_PAUSES, { code: 'model_paused', recoverable: false });
          current_input = { ...input, transcript: [...input.transcript, toPausedMessage(paused)] };
        }
      } catch (error) {
        signal.throwIfAborted();
        const failure = error instanceof Anthropic.AnthropicError ? toVendorFailure(error) : toModelFailure(error, EXPECTED);
        throw attachAnswer(failure, answer.getUsage());
      }
    },
  };
}

async function hear(response: Response, add: (event: MessageEvent) => void): Promise<void> {
  await refuseOtherAnswers(response, EXPECTED);
  if (!isJson(response)) return readChunks(response, add);
  for (const event of toMessageEvents(parseExact(await response.text()) as Anthropic.Message)) add(event);
}

/** Returns the answer so far as the end of the conversation: the vendor continues it. */
const toPausedMessage = ({ text: content, extra }: Pick<ModelReply, 'text' | 'extra'>): TranscriptMessage => ({
  step: 0,
  position: 0,
  role: 'assistant',
  kind: 'reply',
  content,
  tool_calls: null,
  call_id: null,
  extra,
});

/** The vendor names the tokens of the request at once, and bills them however the answer ends. */
const attachAnswer = (failure: unknown, answer: Answered | null): unknown =>
  failure instanceof ModelFailure && answer && !failure.answer
    ? new ModelFailure(failure.message, { ...failure, answer })
    : failure;

/** Converts the answer of an endpoint that does not stream into the events of a stream. */
const toMessageEvents = (message: Anthropic.Message): MessageEvent[] => [
  { type: 'message_start', message },
  ...message.content.map((content_block, index) => ({ type: 'content_block_start', index, content_block })),
  { type: 'message_delta', delta: { stop_reason: message.stop_reason } },
  { type: 'message_stop' },
];

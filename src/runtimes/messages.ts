import type Anthropic from '@anthropic-ai/sdk';
import { ModelFailure } from '../domain/model-failure.ts';
import type { TranscriptMessage } from '../domain/transcript.ts';
import type { Answered } from '../domain/usage.ts';
import { readAnswer } from './answer-body.ts';
import { noModel, toModelFailure } from './failures.ts';
import { askWhenLoaded } from './loading.ts';
import { collectMessage } from './messages-reply.ts';
import { messagesRequest } from './messages-request.ts';
import type { ModelReply, ModelRuntime } from './runtime.ts';

/** The caller enforces the deadlines of an exchange. */
const NO_TIMEOUT = 2 ** 31 - 1;
const EXPECTED = 'an answer of the Messages API';

/** The version of the API that takes `temperature` and `top_p`. Later ones refuse them for every model. */
const SAMPLED = { 'anthropic-version': '2023-06-01' };

/** The vendor pauses an answer after several calls of the tools that it runs. */
const MOST_REQUESTS = 8;
const TOO_MANY_PAUSES = `The model's vendor paused its answer ${MOST_REQUESTS} times to run more of its tools; set \`max_uses\` on them`;

/** Anthropic's streamed Messages API. Each request sends the whole transcript, so there is no cursor. */
export function messagesRuntime({ client, default_model }: { client: Anthropic; default_model: string | null }): ModelRuntime {
  return {
    async exchange(input, emit, signal) {
      const model = input.model ?? default_model;
      if (!model) throw noModel();
      const answer = collectMessage({ emit, ...input });
      let current_input = input;
      try {
        for (let requests = 1; ; requests += 1) {
          const request = { ...messagesRequest(current_input, model), stream: true as const };
          const headers = 'temperature' in request || 'top_p' in request ? SAMPLED : {};
          const send = () => client.messages.create(request, { signal, timeout: NO_TIMEOUT, headers }).asResponse();
          const response = await askWhenLoaded(send, signal);
          const end = await readAnswer(response, EXPECTED, { onEvent: answer.add, onWhole: answer.addWhole });
          const paused = answer.getPausedReply();
          if (!paused) return { reply: answer.reply(end), cursor: null };
          if (requests === MOST_REQUESTS) throw new ModelFailure(TOO_MANY_PAUSES, { code: 'model_paused', recoverable: false });
          current_input = { ...input, transcript: [...input.transcript, toPausedMessage(paused)] };
        }
      } catch (error) {
        signal.throwIfAborted();
        const failure = toModelFailure(error, { expected: EXPECTED });
        throw attachAnswer(failure, answer.getUsage());
      }
    },
  };
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

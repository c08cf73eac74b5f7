import type { AgUiRunInput } from '../../../contracts/front-ends.ts';
import type { SseFrame } from '../../http/sse.ts';
import { toPromptId } from '../commands.ts';
import type { AnsweringTurn } from '../front-end-turns.ts';
import type { RunRecord } from '../projection/read-record.ts';
import type { AgUiMessage } from './messages.ts';
import { type AgUiStream, type PassedOn, startRun, streamAgUi } from './stream.ts';

type Place = Omit<AgUiStream, 'thread_id' | 'run_id' | 'earlier' | 'resumed' | 'waiting'>;
type OpenRun = (task_id: string) => Promise<{ record: RunRecord; place: Place }>;

/** Streams the answer to a request of an AG-UI client. A message that is passed on to another run takes the stream with it. */
export async function* answerAgUi(turn: AnsweringTurn, input: AgUiRunInput, openRun: OpenRun): AsyncGenerator<SseFrame> {
  const { message_id = null, is_new } = turn;
  const client = { thread_id: input.threadId, run_id: input.runId };
  const sent = message_id === null || is_new ? null : { message_id, message: input.messages.at(-1)! };

  async function* streamFrom({ task_id, earlier }: PassedOn): AsyncGenerator<SseFrame> {
    const { record, place } = await openRun(task_id);
    const is_prompt = sent?.message_id === task_id;
    // The client keeps the places of messages that it has, so the one it has sent gets another id: it comes after the run's own.
    const own = sent && { ...sent.message, id: is_prompt ? toPromptId(task_id) : sent.message_id };
    const before = [...omitRun(earlier, task_id), ...(own && is_prompt ? [own] : [])];
    const messages = {
      earlier: before,
      waiting: own && !is_prompt ? own : undefined,
      resumed: !is_new,
      has_answered: message_id === null,
    };
    const passed_on = yield* streamAgUi(record, { ...place, ...client, ...messages });
    if (passed_on) yield* streamFrom(passed_on);
  }

  yield startRun(client);
  yield* streamFrom({ task_id: turn.task_id, earlier: input.messages.filter((message) => message !== sent?.message) });
}

/** Returns the messages without those that a run has made, and the results that a client sent for its calls. */
export const omitRun = (messages: readonly AgUiMessage[], task_id: string): AgUiMessage[] =>
  messages.filter(
    ({ id, toolCallId }) =>
      !(id.startsWith(`${task_id}-`) && id !== toPromptId(task_id)) && !String(toolCallId).startsWith(`call_${task_id}_`),
  );

import type { ChatEvent } from '../../contracts/chat.ts';
import { type ChatTurn, getReplyError, toChatUsage, toReplyId } from '../../domain/chat-turns.ts';
import { piecesOfText } from '../../domain/pieces.ts';
import type { Store } from '../../store/index.ts';
import { type CompatRun, type CompatServices, createTextDigest, PIECE, streamModelText } from './runs.ts';

interface Services extends Pick<CompatServices, 'following'> {
  store: Pick<Store, 'chats'>;
}

/**
 * Streams a turn as the events of a chat, from its begin to its end, which may be hours away. The events are the same for every reader as
 * long as the pieces of the text are on record. Ends early if the signal aborts.
 */
export async function* streamChatReply(
  { store, following }: Services,
  { session_id, ...run }: CompatRun & { session_id: string },
  signal: AbortSignal,
): AsyncGenerator<ChatEvent> {
  yield { type: 'session', session_id };
  const sent = createTextDigest();
  for await (const content of streamModelText({ following }, run, signal)) {
    sent.add(content);
    yield { type: 'delta', content };
  }
  if (signal.aborted) return;
  const turn = await store.chats.findTurn(run.task_id);
  if (!turn) return yield { type: 'error', message: 'The chat session was deleted' };
  const rest = sent.findContinuation(turn.text);
  for (const content of piecesOfText(rest ?? '', PIECE)) yield { type: 'delta', content };
  yield toLastEvent(turn, rest !== null);
}

function toLastEvent(turn: ChatTurn, is_whole: boolean): ChatEvent {
  const message = getReplyError(turn);
  if (message !== null) return { type: 'error', message };
  const { id, text, truncated } = turn;
  return {
    type: 'done',
    usage: toChatUsage(turn),
    message_id: toReplyId(id),
    ...(truncated ? { truncated } : {}),
    ...(is_whole ? {} : { content: text }),
  };
}

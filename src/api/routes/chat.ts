import { v7 as uuid } from 'uuid';
import type { ChatReplies } from '../../chat/replies.ts';
import type { NumberedEvent, StoredText } from '../../chat/reply-record.ts';
import type { Agent } from '../../contracts/agents.ts';
import { type ChatEvent, type ChatMessage, chat } from '../../contracts/chat.ts';
import type { Warning } from '../../contracts/common.ts';
import { AppError, conflict, notFound } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import { getOwnSession } from '../checks/owned.ts';
import { type Api, mount } from '../http/mount.ts';
import type { LateFrame, SseFrame } from '../http/sse.ts';
import { toReply } from '../http/validate.ts';

export interface ChatServices {
  store: Store;
  replies: Pick<ChatReplies, 'start' | 'follow'>;
  /** Notifies the process that writes the reply of a session of a recorded stop. The notice may be lost. */
  stopReply(session_id: string): void;
  /** Checks a text against the guardrails before anything is stored; throws to refuse it. */
  guard(text: string, agent: Agent, caller: Caller): Promise<void>;
}

interface SessionPlace {
  agent_id: string;
  session_id: string;
}

/** The place of the reply, which an Idempotency-Key refers to. */
interface ReplyPlace {
  session_id: string;
  question_id: string;
  message_id: string;
}

export function chatRoutes(api: Api, { store, replies, stopReply, guard }: ChatServices): void {
  const getAgent = async (id: string): Promise<Agent> => {
    const agent = await store.agents.find(id);
    if (!agent) throw notFound('agent', id);
    return agent;
  };
  const getSession = getAgentSession(store);

  mount(api, chat.sessions, async ({ params: { agent_id }, query }, caller) => {
    await getAgent(agent_id);
    return store.chat.list({ ...query, agent_id, owner: caller.key });
  });
  const getDetail = async ({ params }: { params: SessionPlace }, caller: Caller) => {
    await getAgent(params.agent_id);
    const session = await getSession(params, caller);
    return { ...session, ...(await store.chat.talk(session.id)) };
  };
  mount(api, chat.session, getDetail);
  mount(
    api,
    chat.remove,
    async ({ params }, caller) => {
      await getAgent(params.agent_id);
      await store.chat.remove((await getSession(params, caller)).id);
    },
    { current: async (input, caller) => toReply(chat.session.reply, await getDetail(input, caller)) },
  );
  mount(api, chat.stop, async ({ params }, caller) => {
    await getAgent(params.agent_id);
    const { id: session_id } = await getSession(params, caller);
    await store.chat.noteStop(session_id);
    stopReply(session_id);
    return { status: 'stop_requested' as const, session_id };
  });
  mount(api, chat.stream, async ({ params, query: { question_id }, last_event_id, signal }, caller) => {
    await getAgent(params.agent_id);
    const { id: session_id } = await getSession(params, caller);
    const seen = last_event_id && /^\d{1,9}$/.test(last_event_id) ? Number(last_event_id) : 0;
    const followed_id = await store.chat.findFollowed(session_id, { question_id, ended: seen > 0 });
    return followed_id === null ? null : toFrames(replies.follow({ session_id, question_id: followed_id, seen }, signal));
  });
  mount(api, chat.send, async ({ params: { agent_id }, body: { message, session_id }, once, warnings }, caller) => {
    const agent = await getAgent(agent_id);
    if (session_id !== undefined) await getSession({ agent_id, session_id }, caller);
    await guard(message, agent, caller);
    const question = { session_id, agent_id, owner: caller.key, content: message };
    const { value: reply_place, replayed: again } = await once(async (id = uuid()): Promise<ReplyPlace> => {
      // The two are made together, so that the ids of two concurrent questions have the same order as the messages.
      const message_id = uuid();
      return { session_id: await store.chat.ask({ id, ...question }), question_id: id, message_id };
    });
    // The reply starts only after the key is tied to it, so that the key never produces a second one.
    return numberFrames(
      again ? await loadStoredReply(store, reply_place) : replies.start({ agent, caller, ...reply_place }),
      warnings,
    );
  });
}

/** Replays a stored reply. Its text is loaded when it is sent. */
async function loadStoredReply(
  store: Store,
  { session_id, message_id }: ReplyPlace,
): Promise<AsyncIterable<ChatEvent | StoredText>> {
  const message = await store.chat.message(message_id);
  if (!message)
    throw conflict(
      'The reply to the first request with this Idempotency-Key is not stored: it is on its way, or its model failed',
      'reply_missing',
    );
  const { usage, truncated } = message;
  return streamStoredReply(store, {
    session_id,
    message_id,
    truncated,
    usage: usage!,
  });
}

type StoredReply = Pick<ChatMessage, 'truncated'> & { usage: NonNullable<ChatMessage['usage']> };

async function* streamStoredReply(
  store: Store,
  { session_id, message_id, usage, truncated }: Omit<ReplyPlace, 'question_id'> & StoredReply,
): AsyncGenerator<ChatEvent | StoredText> {
  yield { type: 'session', session_id };
  yield { load: async () => (await store.chat.message(message_id))?.content ?? null };
  yield { type: 'done', usage, message_id, ...(truncated ? { truncated } : {}) };
}

/** Numbers the frames. The first frame is the session, with the warnings about the request. */
async function* numberFrames(
  events: AsyncIterable<ChatEvent | StoredText>,
  warnings: readonly Warning[],
): AsyncGenerator<SseFrame | LateFrame> {
  let last = 0;
  for await (const data of events) {
    const id = ++last;
    if ('load' in data) yield async () => toDelta(id, await data.load());
    else yield { id, data: data.type === 'session' && warnings.length > 0 ? { ...data, warnings } : data };
  }
}

async function* toFrames(events: AsyncIterable<NumberedEvent>): AsyncGenerator<SseFrame | LateFrame> {
  for await (const { id, event } of events)
    yield 'load' in event ? async () => toDelta(id, await event.load()) : { id, data: event };
}

const toDelta = (id: number, content: string | null): SseFrame | null =>
  content === null ? null : { id, data: { type: 'delta', content } };

/** Throws 404 if the session is unknown, 403 if it is someone else's, 400 if it is with another agent. */
const getAgentSession =
  (store: Store) =>
  async ({ agent_id, session_id }: SessionPlace, caller: Caller) => {
    const session = await getOwnSession(store)(session_id, caller);
    if (session.agent_id !== agent_id)
      throw new AppError('invalid', 'This chat session is with a different agent', { code: 'session_of_other_agent' });
    return session;
  };

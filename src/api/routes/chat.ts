import type { Agent } from '../../contracts/agents.ts';
import { type ChatEvent, chat } from '../../contracts/chat.ts';
import type { Warning } from '../../contracts/common.ts';
import { BUDGET_SPENT } from '../../domain/cap-states.ts';
import { AppError, notFound, unprocessable } from '../../domain/errors.ts';
import { toThreadTitle } from '../../domain/thread.ts';
import type { FollowSource } from '../../events/follow.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { Dispatch } from '../../temporal/start/orders.ts';
import { haltAll } from '../checks/halts.ts';
import { getOwnSession } from '../checks/owned.ts';
import { streamChatReply } from '../compat/chat-stream.ts';
import { createRunWorkflow } from '../compat/runs.ts';
import { type Api, mount } from '../http/mount.ts';
import type { SseFrame } from '../http/sse.ts';
import { toReply } from '../http/validate.ts';

interface Services {
  store: Store;
  dispatch: Dispatch;
  following: FollowSource;
}

interface SessionPlace {
  agent_id: string;
  session_id: string;
}

/** The place of a message, which an Idempotency-Key refers to. `warnings` are about budgets. */
interface QuestionPlace {
  session_id: string;
  question_id: string;
  workflow_id?: string;
  warnings?: Warning[];
}

/** A message that no model can be asked about, and why. It is not stored. */
interface RefusedQuestion {
  session_id: string;
  question_id: null;
  refusal: string;
  warnings?: never;
}

export function chatRoutes(api: Api, services: Services): void {
  const { store, dispatch } = services;
  const getAgent = async (id: string): Promise<Agent> => {
    const agent = await store.agents.find(id);
    if (!agent) throw notFound('agent', id);
    return agent;
  };
  /** Throws 404 if the agent or the session is unknown, 403 if the session is someone else's, 400 if it is with another agent. */
  const getSession = async ({ agent_id, session_id }: SessionPlace, caller: Caller) => {
    await getAgent(agent_id);
    const session = await getOwnSession(store)(session_id, caller);
    if (session.agent_id === agent_id) return session;
    throw new AppError('invalid', 'This chat session is with a different agent', { code: 'session_of_other_agent' });
  };
  const getDetail = async ({ params }: { params: SessionPlace }, caller: Caller) => {
    const session = await getSession(params, caller);
    return { ...session, ...(await store.chats.listMessages(session.id)) };
  };

  mount(api, chat.sessions, async ({ params: { agent_id }, query }, caller) => {
    await getAgent(agent_id);
    return store.chats.list({ ...query, agent_id, owner: caller.key });
  });
  mount(api, chat.session, getDetail);
  mount(
    api,
    chat.remove,
    async ({ params }, caller) => {
      const { id: session_id, workflow_id } = await getSession(params, caller);
      await haltAll(dispatch, () => store.chats.listLive({ session_id }), HALTING);
      await store.workflows.remove(workflow_id);
    },
    { current: async (input, caller) => toReply(chat.session.reply, await getDetail(input, caller)) },
  );
  mount(api, chat.stop, async ({ params }, caller) => {
    const { id: session_id } = await getSession(params, caller);
    for (const task_id of await store.chats.listLive({ session_id })) await dispatch.halt(task_id);
    return { status: 'stop_requested' as const, session_id };
  });
  mount(api, chat.stream, async ({ params, query: { question_id }, last_event_id, signal }, caller) => {
    const { id: session_id } = await getSession(params, caller);
    const seen = last_event_id && /^\d{1,9}$/.test(last_event_id) ? Number(last_event_id) : 0;
    const followed = await store.chats.findFollowed(session_id, { question_id, ended: seen > 0 });
    if (!followed && question_id) throw notFound('message of this session', question_id);
    if (!followed) return null;
    const { has_ended, has_pieces, ...run } = followed;
    const frames = numberFrames(streamChatReply(services, { session_id, ...run }, signal), { seen });
    if (!has_ended || seen === 0) return frames;
    return has_pieces ? withoutEmpty(frames) : refuseNumber(seen);
  });
  mount(
    api,
    chat.send,
    async ({ params: { agent_id }, body: { message, session_id, tools }, once, warnings, signal }, caller) => {
      const session = session_id === undefined ? null : await getSession({ agent_id, session_id }, caller);
      const agent = session ? null : await getAgent(agent_id);
      const { value: place } = await once(async (reserved_id, claim): Promise<QuestionPlace | RefusedQuestion> => {
        const asked_before = reserved_id ? await store.tasks.find(reserved_id) : null;
        if (asked_before) return toPlace({ ...asked_before, task_id: asked_before.id });
        const order = {
          task_id: reserved_id,
          claim,
          workflow_id: session?.workflow_id ?? (await createRunWorkflow(store, agent!, { caller, remember: 'thread' })),
          thread_id: session?.id ?? 'new',
          owner: caller.key,
          owner_login: caller.login,
          access_token: caller.access_token,
          service_key_id: caller.service_key?.id,
          prompt: message,
          ...(tools ? {} : { without_tools: true as const }),
          is_awaited: true as const,
          trigger: 'chat',
        };
        try {
          const accepted = await dispatch.prompt(order);
          return toPlace(accepted, accepted.warnings);
        } catch (error) {
          const refusal = getModelRefusal(error);
          const refused_session = session ?? (await createSession(store, order, caller));
          return { session_id: refused_session.id, question_id: null, refusal };
        }
      });
      const all_warnings = [...warnings, ...(place.warnings ?? [])];
      const events = place.question_id === null ? refuse(place) : streamChatReply(services, await findRun(store, place), signal);
      return numberFrames(events, { warnings: all_warnings });
    },
  );
}

const toPlace = (
  { thread_id, task_id, workflow_id }: { thread_id: string | null; task_id: string; workflow_id: string },
  warnings: readonly string[] = [],
): QuestionPlace => ({
  session_id: thread_id!,
  question_id: task_id,
  workflow_id,
  warnings: warnings.map((message) => ({ path: 'message', message })),
});

/** Returns the run that answers a message. An earlier version has tied keys to messages without a workflow. */
async function findRun(store: Store, { session_id, question_id: task_id, ...known }: QuestionPlace) {
  const workflow_id = known.workflow_id ?? (await store.tasks.find(task_id))?.workflow_id;
  if (!workflow_id) throw notFound('chat session', session_id);
  return { session_id, task_id, workflow_id };
}

/**
 * Returns why no model can be asked: the agent's provider does not exist, or a budget is used up. For a chat, that is a failure of its
 * model. Throws every other refusal, with the name that the prompt has in a chat.
 */
function getModelRefusal(error: unknown): string {
  if (!(error instanceof AppError)) throw error;
  if (error.kind === 'conflict' || error.code === BUDGET_SPENT) return error.message;
  if (error.kind !== 'unprocessable' || !error.errors) throw error;
  const errors = error.errors.map(({ path, message }) => ({ path: path === 'prompt' ? 'message' : path, message }));
  throw unprocessable(errors, error.code);
}

const createSession = (
  store: Store,
  { workflow_id, prompt }: { workflow_id: string; prompt: string },
  { key: owner, login: owner_login }: Caller,
) => store.threads.create({ workflow_id, title: toThreadTitle(prompt), metadata: {}, pinned: false, owner, owner_login });

async function* refuse({ session_id, refusal: message }: RefusedQuestion): AsyncGenerator<ChatEvent> {
  yield { type: 'session', session_id };
  yield { type: 'error', message };
}

interface Numbering {
  /** The number of the last event that the reader has. */
  seen?: number;
  /** Sent with the session. */
  warnings?: readonly Warning[];
}

async function* numberFrames(events: AsyncIterable<ChatEvent>, { seen = 0, warnings = [] }: Numbering): AsyncGenerator<SseFrame> {
  let id = 0;
  for await (const event of events) {
    id += 1;
    if (id > seen) yield { id, data: event.type === 'session' && warnings.length > 0 ? { ...event, warnings } : event };
  }
}

/** Returns null for frames of which there is none: the reader has all of them. */
async function withoutEmpty(frames: AsyncGenerator<SseFrame>): Promise<AsyncGenerator<SseFrame> | null> {
  const first = await frames.next();
  if (first.done) return null;
  return (async function* () {
    yield first.value;
    yield* frames;
  })();
}

const HALTING = 'The reply of this session is being halted; repeat the request in a moment';

const PIECES_GONE =
  'The pieces of this reply are no longer kept, so that it cannot be continued; read the session, or follow it without Last-Event-ID';

async function* refuseNumber(seen: number): AsyncGenerator<SseFrame> {
  yield { id: seen + 1, data: { type: 'error', message: PIECES_GONE } satisfies ChatEvent };
}

import type Anthropic from '@anthropic-ai/sdk';
import type {
  EventSendParams,
  BetaManagedAgentsSessionEvent as ListedEvent,
  BetaManagedAgentsStreamSessionEvents as SessionEvent,
} from '@anthropic-ai/sdk/resources/beta/sessions/events';
import { formatEarlierTurns } from '../../domain/earlier-turns.ts';
import { ModelFailure } from '../../domain/model-failure.ts';
import type { TranscriptMessage } from '../../domain/transcript.ts';
import { noModel } from '../failures.ts';
import type { Exchange, ModelReply, ModelRuntime } from '../runtime.ts';
import { findOpenSession, findOrCreateSession, type Hosted } from './agent.ts';
import { endSession, isHaltReason, stop } from './end.ts';
import { toVendorFailure } from './failures.ts';
import { foldEvents, type Rest } from './fold.ts';
import { iterateEntries } from './pages.ts';

interface ManagedSessionOptions {
  client: Anthropic;
  default_model: string | null;
  hosted: Hosted;
  /** A session that is silent for this long fails, and the exchange is retried. */
  idle_ms?: number;
}

/** The position within a session; stored with each recorded reply. */
interface SessionCursor {
  session_id: string;
  /** The last event that is in the transcript; null: none. */
  seen: string | null;
  /** Set by earlier versions, which archived the session with the answer: nothing remains to be ended. */
  archived?: boolean;
}

type Sent = EventSendParams['events'][number];

const IDLE_MS = 10 * 60_000;
/** The largest assumed lag of the vendor's clock behind ours. */
const CLOCKS_APART_MS = 5 * 60_000;
const NO_TOOLS = 'Denied: no further tool call is made. Give your final answer now.';
/** The number of calls without allowed tools that are denied before the text so far becomes the answer. */
const PATIENCE = 3;

/**
 * The vendor's managed agent sessions: one session per task. The session's event list is the record, so another worker resumes an
 * interrupted exchange by reading it: nothing is sent twice, and no answer is requested twice.
 */
export function createManagedRuntime({ client, default_model, hosted, idle_ms = IDLE_MS }: ManagedSessionOptions): ModelRuntime {
  return {
    async exchange(input, emit, outer) {
      const model = input.model ?? default_model;
      if (!model) throw noModel();
      const idle = new AbortController();
      const timer = setTimeout(() => idle.abort(), idle_ms);
      const signal = AbortSignal.any([outer, idle.signal]);
      const cursor = input.cursor as SessionCursor | null;
      let session_id = cursor?.session_id;
      try {
        session_id ??= await findOrCreateSession({ client, signal }, input, { model, hosted });
        const place: Place = { client, session_id, seen: cursor?.seen ?? null, signal, touch: () => void timer.refresh() };
        return await converse(place, input, { emit, model });
      } catch (error) {
        if (outer.aborted && session_id && isHaltReason(outer.reason)) await stop(client, session_id);
        outer.throwIfAborted();
        if (idle.signal.aborted)
          throw new ModelFailure(`The session sent nothing for ${idle_ms / 1000} s`, {
            code: 'model_timeout',
            recoverable: true,
          });
        throw toVendorFailure(error);
      } finally {
        clearTimeout(timer);
      }
    },
    async end({ task_id, cursor, started_at }, signal) {
      const session_cursor = cursor as Partial<SessionCursor> | null;
      if (session_cursor?.archived) return;
      const since = new Date((started_at?.getTime() ?? 0) - CLOCKS_APART_MS);
      const session_id = session_cursor?.session_id ?? (await findOpenSession({ client, signal }, { task_id, since }));
      if (session_id) await endSession({ client, signal }, session_id);
    },
  };
}

interface Place {
  client: Anthropic;
  session_id: string;
  seen: string | null;
  signal: AbortSignal;
  touch(): void;
}

async function converse(
  place: Place,
  input: Exchange,
  { emit, model }: { emit: (delta: string) => void; model: string },
): Promise<{ reply: ModelReply; cursor: SessionCursor }> {
  const { client, session_id, signal } = place;
  // Subscribe before reading the past events, so that none is missed.
  const stream = await client.beta.sessions.events.stream(session_id, { event_deltas: ['agent.message'] }, { signal });
  const past = await history(place);
  const new_events = past.slice(findFirstUnseen(past, place.seen));
  const due = dueEvents(input, new_events);
  const answered_ids = new Set(
    [...past, ...due].flatMap((event) => (event.type === 'user.custom_tool_result' ? event.custom_tool_use_id : [])),
  );
  const fold = foldEvents(emit, answered_ids, (usage) => input.report?.({ model, usage }));
  if (due.length > 0) await client.beta.sessions.events.send(session_id, { events: due }, { signal });
  const events = stream[Symbol.asyncIterator]();
  let rest = replay(new_events, fold, due.length > 0);
  for (let patience = PATIENCE; ; patience -= 1) {
    rest ??= await untilRest(events, fold, place);
    if (rest.kind === 'answered' || input.tools.length > 0 || patience === 0) break;
    const denials = rest.calls.map(({ id }): Sent => toResultEvent(id, NO_TOOLS, true));
    for (const { id } of rest.calls) answered_ids.add(id);
    await client.beta.sessions.events.send(session_id, { events: denials }, { signal });
    rest = null;
  }
  stream.controller.abort();
  const calls = rest.kind === 'asks' ? rest.calls : [];
  const reply: ModelReply = {
    text: fold.text(),
    calls,
    model,
    usage: fold.usage(),
    finish: rest.kind === 'asks' ? 'tool_calls' : rest.finish,
    extra: calls.length > 0 ? { tool_use_ids: calls.map(({ id }) => id) } : null,
    made_there: fold.made_there(),
  };
  if (calls.length === 0 && reply.text.trim() === '')
    throw new ModelFailure('The model gave an empty answer', { code: 'empty_answer', recoverable: false, answer: reply });
  // The session stays open: an answer may be sent back, and a message may wait for the run. The end of the run archives it.
  return { reply, cursor: { session_id, seen: fold.last() } };
}

async function history({ client, session_id, signal }: Place): Promise<ListedEvent[]> {
  const events: ListedEvent[] = [];
  const listing = client.beta.sessions.events.list(session_id, { order: 'asc', limit: 1_000 }, { signal });
  for await (const event of iterateEntries(listing, 'events')) events.push(event);
  return events;
}

/** Feeds the events since the last recorded reply. A rest counts only after everything sent. */
function replay(new_events: ListedEvent[], fold: ReturnType<typeof foldEvents>, waiting: boolean): Rest | null {
  const last_sent = new_events.findLastIndex(({ type }) => type.startsWith('user.'));
  let rest: Rest | null = null;
  for (const [at, event] of new_events.entries())
    rest = fold.take(event as SessionEvent, { counts: !waiting && at > last_sent }) ?? rest;
  return rest;
}

const findFirstUnseen = (past: ListedEvent[], seen: string | null) => (seen ? past.findIndex(({ id }) => id === seen) + 1 : 0);

async function untilRest(
  events: AsyncIterator<SessionEvent>,
  fold: ReturnType<typeof foldEvents>,
  { touch }: Place,
): Promise<Rest> {
  for (let next = await events.next(); !next.done; next = await events.next()) {
    touch();
    const rest = fold.take(next.value, { counts: true });
    if (rest) return rest;
  }
  throw new ModelFailure('The stream of the session broke off', { code: 'model_stream_cut', recoverable: true });
}

/** The entries since the last reply of the turn that were not yet sent to the session, which begins with the earlier turns as a text. */
function dueEvents({ transcript }: Exchange, new_events: ListedEvent[]): Sent[] {
  const { turn } = transcript.at(-1) ?? {};
  const own_messages = transcript.filter((message) => message.turn === turn);
  const at = own_messages.findLastIndex(({ kind }) => kind === 'reply');
  const reply = own_messages[at];
  const earlier = at < 0 ? formatEarlierTurns(transcript.filter((message) => message.turn !== turn)) : null;
  const ids = (reply?.extra as { tool_use_ids?: string[] } | null)?.tool_use_ids ?? [];
  const idOf = new Map((reply?.tool_calls ?? []).map(({ call_id }, index) => [call_id, ids[index]]));
  const answered_ids = new Set(
    new_events.flatMap((event) => (event.type === 'user.custom_tool_result' ? event.custom_tool_use_id : [])),
  );
  const texts = new_events.flatMap((event) => (event.type === 'user.message' ? blockText(event.content) : []));
  const toText = (text: string): Sent[] =>
    texts.includes(text) ? [] : [{ type: 'user.message', content: [{ type: 'text', text }] }];
  const own_events = own_messages.slice(at + 1).flatMap(({ role, kind, content, call_id }: TranscriptMessage): Sent[] => {
    if (role === 'tool') {
      const id = idOf.get(call_id!);
      return id && !answered_ids.has(id) ? [toResultEvent(id, content, kind === 'denial')] : [];
    }
    return role === 'assistant' || kind === 'summary' ? [] : toText(content);
  });
  return [...(earlier === null ? [] : toText(earlier)), ...own_events];
}

const blockText = (content: readonly { type: string; text?: string }[]) => content.map(({ text }) => text).join('');

const toResultEvent = (custom_tool_use_id: string, text: string, is_error: boolean): Sent => ({
  type: 'user.custom_tool_result',
  custom_tool_use_id,
  is_error,
  content: [{ type: 'text', text: text || '(no content)' }],
});

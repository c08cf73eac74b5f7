import { getAskedModel, isVendor, type OfferedTool } from '../../../domain/definition.ts';
import { applyFallback, findReturn, formatPlace, toPlace } from '../../../domain/fallback.ts';
import { buildThreadTranscript } from '../../../domain/thread.ts';
import type { TranscriptMessage } from '../../../domain/transcript.ts';
import {
  DENIAL,
  formatReminder,
  REMINDER_POSITION,
  STEER_POSITION,
  type SteerExtra,
  type WaitingMessage,
} from '../../../domain/transcript.ts';
import { createTaskEvents, DEFAULT_MODEL, type NewEvent } from '../../../events/task-events.ts';
import type { PublishedTexts } from '../../../store/runs/runs.ts';
import { retryWhileDown, staleAttempt } from '../attempt.ts';
import { type Context, loadContext } from '../context.ts';
import { listStartEvents } from '../offered.ts';
import type { ExchangeAttempt } from './attempt.ts';

/** A step that an attempt has claimed, or is claiming. */
export interface StartedStep {
  /** Resolves once the record shows that this attempt has the step; rejects if another was quicker. */
  claim: Promise<void>;
  /** True for the run's first exchange. */
  first: boolean;
  /**
   * The tools offered to the model, if the record of the beginning lists them; null: they are still to be found, or were known
   * before.
   */
  offered: OfferedTool[] | null;
  /** The transcript, with the messages that this step adds before the model is called. */
  transcript: TranscriptMessage[];
  /** Aborts with the activity, or if another attempt has claimed the step. */
  signal: AbortSignal;
  /** Publishes events of this attempt once the step has begun. Ends the attempt if another one has claimed the step. */
  publish(events: NewEvent[]): Promise<void>;
  /** Publishes text once the step has begun. Waits while the database is unavailable, until the signal aborts. */
  publishDelta(delta: string): Promise<void>;
  /** Returns the texts that were published so far. */
  getPublishedTexts(): PublishedTexts;
}

/** Starts to write the beginning of the step, and does not wait for it: the model can be prepared meanwhile. */
export async function beginStep(work: ExchangeAttempt, outer: AbortSignal): Promise<StartedStep> {
  const { ports, run, definition, order } = work;
  const first = order.step === 1 && run.messages.length === 0;
  const context = first ? await loadContext(ports, run, definition) : NOTHING;
  const own_tools = first ? await buildKnownTools(work, outer) : null;
  const { messages, events } = buildOpening(work, context);
  const taken = run.waiting_messages.map(({ id }) => id);
  const opening = { messages, taken, events: own_tools ? [...events, ...listStartEvents(work, own_tools)] : events };
  const takeover = new AbortController();
  const signal = AbortSignal.any([outer, takeover.signal]);
  /** The number of the last event of this attempt. */
  let last = 0;
  const texts: PublishedTexts = { after: 0, count: 0, bytes: 0 };
  const advance = (number: number | null) => {
    last = number ?? giveWay(takeover);
  };
  const claim = claimStep(work, opening, takeover).then((number) => {
    advance(number);
    texts.after = last;
  });
  // Awaited later. Attach a handler now so that a model failure cannot leave this rejection unhandled.
  claim.catch(() => {});
  return {
    claim,
    first,
    offered: own_tools?.offered ?? null,
    transcript: buildThreadTranscript(run, [...run.messages, ...opening.messages], {
      provider_id: definition.provider?.id ?? null,
      model: getAskedModel(definition),
    }),
    signal,
    async publish(events) {
      await claim;
      advance(await ports.runs.publishDeltas(run, { step: order.step, events }));
    },
    async publishDelta(delta) {
      const text = { step: order.step, after: last, event: createTaskEvents(run.task_id, ports.now).delta(delta) };
      advance(await retryWhileDown(() => ports.runs.publishText(run, text), signal));
      texts.count += 1;
      texts.bytes += Buffer.byteLength(delta);
    },
    getPublishedTexts: () => texts,
  };
}

const NOTHING: Context = { messages: [], events: [] };

/**
 * Returns the tools of a run whose definition alone determines them, so that its beginning and its tools are written together.
 * Returns null if servers have to be asked, or if the vendor runs some of the tools.
 */
async function buildKnownTools({ ports, run, definition }: ExchangeAttempt, signal: AbortSignal) {
  const { provider, mcp_servers = [] } = definition;
  if (mcp_servers.length > 0 || (provider && isVendor(provider))) return null;
  const selected = { custom_tools: provider !== null };
  const box = await ports.listTools({ run, definition, runtime: selected, ready: Promise.resolve() }, signal);
  return { offered: await box.list(signal), selected };
}

/** Claims the step for this attempt. Returns the number of its last event; null if another attempt was quicker. */
function claimStep(
  { ports, run, pinned, definition, order, position }: ExchangeAttempt,
  opening: Context & { taken: string[] },
  takeover: AbortController,
) {
  const { step, turns, denied } = order;
  const fallback = findReturn(run.fallback, position, step);
  const { model, provider } = pinned.fallbacks?.length ? definition : { model: null, provider: null };
  const asked = { position, model, provider: provider && { id: provider.id, name: provider.name } };
  return ports.runs.begin(run, { step, turns, denied, fallback, asked, ...opening }).catch((error) => {
    // The step may not be recorded, so nothing may be published: stop the model call.
    takeover.abort(error);
    throw error;
  });
}

function giveWay(takeover: AbortController): never {
  const reason = staleAttempt();
  takeover.abort(reason);
  throw reason;
}

/** Returns new messages for the model and their events, which are written before the model is called. */
function buildOpening({ ports, run, pinned, position, definition, order }: ExchangeAttempt, context: Context): Context {
  const { log, status, message } = createTaskEvents(run.task_id, ports.now);
  const messages: TranscriptMessage[] = [...context.messages];
  const events: NewEvent[] = [];
  const blank = { tool_calls: null, call_id: null, extra: null };
  if (order.step === 1 && run.messages.length === 0) {
    messages.push({ ...blank, step: 0, position: 0, role: 'user', kind: 'prompt', content: run.prompt });
    events.push(status('running', order.turns), log('run_started', `Agent ${definition.agent.name}`));
    events.push(...context.events);
  }
  const places = new Set(run.messages.map(({ step, position }) => `${step}/${position}`));
  for (const call_id of order.denied) {
    const position = Number(call_id.split('-')[1]);
    if (places.has(`${order.step - 1}/${position}`)) continue;
    messages.push({ ...blank, step: order.step - 1, position, role: 'tool', kind: 'denial', content: DENIAL, call_id });
    events.push(log('tool_denied', 'The turn limit is reached', { call_id }), message('tool', DENIAL, { call_id }));
  }
  if (order.remind && !places.has(`${order.step - 1}/${REMINDER_POSITION}`)) {
    const content = formatReminder(run.prompt);
    messages.push({ ...blank, step: order.step - 1, position: REMINDER_POSITION, role: 'user', kind: 'reminder', content });
    events.push(log('goal_reminder', content));
  }
  const steers = buildSteers(run, order.step);
  messages.push(...steers);
  for (const { content, extra } of steers) {
    const { message_id } = extra as SteerExtra;
    events.push(message('user', content, { step: order.step, kind: 'steer', message_id }));
  }
  if (run.status !== 'running' && run.messages.length > 0) events.push(status('running', order.turns));
  if (run.attempts > 0)
    events.push(log('attempt_reset', 'The step is repeated, and its unfinished text is dropped', { step: order.step }));
  if (findReturn(run.fallback, position, order.step)) {
    const from = applyFallback(pinned, run.fallback!.position);
    const sentence = `${pinned.fallback_minutes} minutes are over; asking ${formatPlace(pinned, position)} again`;
    events.push(log('fallback_ended', sentence, { step: order.step, from: toPlace(from), to: toPlace(definition) }));
  }
  events.push(log('model_call', definition.model ?? DEFAULT_MODEL, { step: order.step }));
  return { messages, events };
}

/** Returns the messages that wait for the run as those of its transcript that come before a step: after what is there already. */
function buildSteers({ messages, waiting_messages }: ExchangeAttempt['run'], step: number): TranscriptMessage[] {
  const positions = messages.filter((message) => message.step === step - 1).map(({ position }) => position);
  const first = Math.max(STEER_POSITION, ...positions.map((position) => position + 1));
  return waiting_messages.map((waiting, index) => toSteer(waiting, { step: step - 1, position: first + index }));
}

function toSteer({ id, content, attachments }: WaitingMessage, place: { step: number; position: number }): TranscriptMessage {
  const extra: SteerExtra = { message_id: id, ...(attachments ? { attachments } : {}) };
  return { ...place, role: 'user', kind: 'steer', content, tool_calls: null, call_id: null, extra };
}

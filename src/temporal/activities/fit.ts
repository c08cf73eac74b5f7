import { fileTokens } from '../../domain/attachments.ts';
import { terse } from '../../domain/caveman.ts';
import {
  type Cut,
  findCompactionCut,
  formatForSummary,
  getSummaryPosition,
  listStanding,
  replaceOlder,
  SUMMARY_INSTRUCTIONS,
  sinceSummary,
  summaryMessage,
  transcriptSize,
} from '../../domain/compaction.ts';
import { type ContextWindow, estimateTokens } from '../../domain/context-window.ts';
import type { Definition, ToolSpec } from '../../domain/definition.ts';
import { listGivenFiles } from '../../domain/given-files.ts';
import { dropCalls, ModelFailure } from '../../domain/model-failure.ts';
import { type FileTakers, listShownFiles } from '../../domain/result-files.ts';
import { toOwnSummary } from '../../domain/thread.ts';
import { storable, type TranscriptMessage } from '../../domain/transcript.ts';
import { shorterAsTsv } from '../../domain/tsv.ts';
import { addUsage, followUsage, toPricing, toUsage } from '../../domain/usage.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import type { ModelReply } from '../../runtimes/runtime.ts';
import type { SelectedRuntime } from '../../runtimes/select.ts';
import type { OpenRun, RunStore } from '../../store/runs/runs.ts';
import { isHalt, retryWhileDown, staleAttempt } from './attempt.ts';
import { noteHaltedCall } from './halted-calls.ts';
import { type ReservePorts, reserveCaps } from './reserve-caps.ts';

export interface FitPorts extends ReservePorts {
  runs: Pick<RunStore, 'compact' | 'noteHalted'> & ReservePorts['runs'];
  /** The runs whose models have refused files of tools' results. */
  file_takers: FileTakers;
  /** Finds the context window of the run's model. */
  findContextWindow(run: OpenRun, definition: Definition): ContextWindow;
  /** Keeps the size that the model's endpoint named when it refused a longer request. */
  keepWindow(definition: Definition, tokens: number): Promise<void>;
}

export interface FitWork {
  ports: FitPorts;
  run: OpenRun;
  definition: Definition;
  step: number;
  selected: SelectedRuntime;
  instructions: string;
  tools: ToolSpec[];
}

export interface Fitted {
  transcript: TranscriptMessage[];
  /** The messages as they are on record, before they were shortened for the model. */
  read: TranscriptMessage[];
  /** The run, including the cost of the summary. */
  run: OpenRun;
  /** The size of the context window that it is to fit, in tokens. */
  window: number;
  /** The approximate number of tokens that the model is sent. */
  tokens: number;
}

/** Shares of the context window: a transcript above the first is compacted until the remaining rounds fill the second. */
const FULL = 0.8;
const KEPT = 0.4;
/** The share that a summary may need. */
const SUMMARY = 0.05;

/**
 * Returns the part of a transcript to send. Compacts the transcript if the window is nearly full; fails the run if compaction is
 * off or insufficient.
 */
export async function fitTranscript(work: FitWork, messages: readonly TranscriptMessage[], signal: AbortSignal): Promise<Fitted> {
  const { ports, run, definition, selected } = work;
  const { infinite_session } = definition.settings;
  const window = ports.findContextWindow(run, definition);
  const read = sinceSummary(messages);
  const fit = toFitted(work, read, { paid: run, window: window.tokens });
  if (selected.keeps_context) return fit;
  const is_full = infinite_session && fit.tokens > window.tokens * FULL;
  const room = { window: window.tokens, summarised: FULL, may_stay_full: fit.tokens <= window.tokens };
  const fitted = (is_full && (await compact(work, fit, { ...room, signal }))) || fit;
  if (fitted.tokens > window.tokens) throw windowFull(fitted.tokens, window, infinite_session);
  return fitted;
}

/** How many times as long as the window a refused request may be; a smaller size in a sentence was misread. */
const MOST_OVERLONG = 16;

/** Returns the size that a refusal names; nothing if it cannot be that of the window. */
export const readNamedWindow = (named: number | undefined, { tokens }: Pick<Fitted, 'tokens'>): number | undefined =>
  named !== undefined && named * MOST_OVERLONG < tokens ? undefined : named;

/** How many times as long as its estimate a request may be: some models divide a Chinese character into two tokens. */
const MOST_UNDERRATED = 6;

/** True if a window has room for a request that was refused: what is too long is the output that was asked for. */
export const isRoomy = (named: number | undefined, { tokens }: Pick<Fitted, 'tokens'>): boolean =>
  named !== undefined && named > tokens * MOST_UNDERRATED;

/**
 * Returns a transcript that the endpoint refused as too long, compacted; null if that is off or impossible. The estimate was too low,
 * or the window is smaller than known, so what is sent becomes a share of both.
 */
export async function refitTranscript(
  work: FitWork,
  refused: Fitted,
  { named, signal }: { named: number | undefined; signal: AbortSignal },
): Promise<Fitted | null> {
  if (!work.definition.settings.infinite_session || work.selected.keeps_context) return null;
  const window = Math.min(refused.tokens, named ?? Number.POSITIVE_INFINITY);
  return compact({ ...work, run: refused.run }, refused, { window, summarised: KEPT, may_stay_full: false, signal });
}

/**
 * Replaces older messages by a summary, so that a share of the window is used; null if nothing is older. `summarised`: the share that
 * the request for the summary may have. `may_stay_full`: null, too, if the rest would soon be full again, and every step would pay for a summary.
 */
async function compact(
  work: FitWork,
  { read }: Fitted,
  {
    window,
    summarised,
    may_stay_full,
    signal,
  }: { window: number; summarised: number; may_stay_full: boolean; signal: AbortSignal },
): Promise<Fitted | null> {
  const measure = (messages: readonly TranscriptMessage[]) => countMessages(work, messages);
  const fixed_tokens = countFixed(work) + fileTokens(work.run.attachments);
  const cut = findCompactionCut(read, window * KEPT - fixed_tokens, measure);
  if (!cut) return null;
  const rest = countFixed(work) + measure([...listStanding(read, cut), ...cut.recent]);
  if (may_stay_full && rest > window * (FULL - SUMMARY)) return null;
  const { summary, paid } = await summarise(work, cut, { most_tokens: window * summarised, signal });
  return toFitted(work, replaceOlder(read, cut, summary), { paid, window });
}

function toFitted(work: FitWork, read: TranscriptMessage[], { paid, window }: { paid: OpenRun; window: number }): Fitted {
  const { ports, run, definition } = work;
  const { tsv_tool_results, caveman } = definition.settings;
  const transcript = read.map((message) => shortenMessage(message, { tsv_tool_results, caveman }));
  const kinds = ports.file_takers.get(run.task_id) ?? 'all';
  const shown_tokens = fileTokens(listShownFiles(read, { kinds, window }).map(({ file }) => file));
  return { transcript, read, run: paid, window, tokens: countFixed(work) + shown_tokens + countMessages(work, transcript) };
}

/** Estimates what a request takes besides its messages. */
const countFixed = ({ instructions, tools }: FitWork): number =>
  estimateTokens(instructions) + (tools.length > 0 ? estimateTokens(JSON.stringify(tools)) : 0);

/** Estimates what messages take, with the files that came with them. */
const countMessages = ({ run }: FitWork, messages: readonly TranscriptMessage[]): number =>
  transcriptSize(messages) + fileTokens(messages.flatMap((message) => listGivenFiles(message, run)));

/** Returns a message in the shorter form that the workflow asks for; the stored message stays unchanged. */
function shortenMessage(
  message: TranscriptMessage,
  { tsv_tool_results, caveman }: { tsv_tool_results: boolean; caveman: boolean },
): TranscriptMessage {
  const { kind, content } = message;
  if (tsv_tool_results && kind === 'result') return { ...message, content: shorterAsTsv(content) };
  return caveman && kind === 'context' ? { ...message, content: terse(content) } : message;
}

function windowFull(tokens: number, window: ContextWindow, infinite: boolean): ModelFailure {
  const advice = infinite ? 'the rest cannot be compacted' : 'infinite_session is off';
  const message = `The model's context window is full: about ${tokens} of ${window.tokens} tokens${SOURCES[window.from]}, and ${advice}`;
  return new ModelFailure(message, { code: 'context_window_full', recoverable: false });
}

/** What a size is known from, for sentences. */
const SOURCES: Record<ContextWindow['from'], string> = {
  provider: " (the provider's context_window)",
  endpoint: " (as the endpoint says; set the provider's context_window if that is wrong)",
  known: '',
  default: " (DEFAULT_CONTEXT_WINDOW, because nothing says the size for this model; set the provider's context_window)",
};

/**
 * Lets the model summarise older rounds and records the summary, which later steps read instead of these rounds. Throws `RunWaits` if a
 * budget above the run does not allow it.
 */
async function summarise(work: FitWork, cut: Cut, { most_tokens, signal }: { most_tokens: number; signal: AbortSignal }) {
  const { caps } = work.ports;
  const request = formatForSummary(cut.older, most_tokens);
  const tokens = estimateTokens(SUMMARY_INSTRUCTIONS) + estimateTokens(request);
  const asking: Summarising = { request, tokens, reservation: await reserveCaps({ ...work, tokens }), signal };
  try {
    return await writeSummary(work, cut, asking);
  } finally {
    await caps.release(asking.reservation);
  }
}

interface Summarising {
  request: string;
  /** The approximate number of tokens that are sent. */
  tokens: number;
  /** What is reserved in budgets above the run; null: nothing, or its usage is recorded. */
  reservation: string | null;
  signal: AbortSignal;
}

async function writeSummary(work: FitWork, cut: Cut, asking: Summarising) {
  const { ports, run, definition, selected, step } = work;
  const { older, turn, step: last_step } = cut;
  const { request, reservation, signal } = asking;
  const prompt: TranscriptMessage = {
    step: 0,
    position: 0,
    role: 'user',
    kind: 'prompt',
    tool_calls: null,
    call_id: null,
    extra: null,
    content: request,
  };
  const reply = await askForSummary(work, prompt, asking);
  const { text } = dropCalls(reply, 'writing the summary of its older messages');
  const content = summaryMessage(storable(text));
  const attempt_usage = toUsage(reply, toPricing(definition, selected.prices));
  const place = { turn, step: last_step, position: getSummaryPosition(cut) };
  const summary: TranscriptMessage = { ...prompt, ...place, kind: 'summary', content };
  const { log, usage } = createTaskEvents(run.task_id, ports.now);
  const paid = { ...run, ...addUsage(run, attempt_usage) };
  const compacted = log('compaction', `${older.length} messages were replaced by a summary`, {
    step,
    messages: older.length,
    up_to_step: last_step,
  });
  const entry = {
    step,
    message: toOwnSummary(summary, run),
    usage: attempt_usage,
    reservation,
    events: [compacted, usage(paid)],
  };
  if (!(await retryWhileDown(() => ports.runs.compact(run, entry), signal))) throw staleAttempt();
  settle(work, asking);
  return { summary, paid };
}

/** Asks for a summary. If a halt breaks it off, what it has used counts. */
async function askForSummary(work: FitWork, prompt: TranscriptMessage, asking: Summarising): Promise<ModelReply> {
  const { run, definition, selected } = work;
  const { tokens, reservation, signal } = asking;
  const { so_far, addPiece, report } = followUsage(tokens);
  const exchange = {
    task_id: run.task_id,
    model: definition.model,
    instructions: SUMMARY_INSTRUCTIONS,
    transcript: [prompt],
    tools: [],
    reasoning_effort: null,
    wants_json: false,
    cursor: null,
    report,
    reportHidden: addPiece,
  };
  try {
    return (await selected.runtime.exchange(exchange, addPiece, signal)).reply;
  } catch (error) {
    const is_recorded =
      isHalt(signal.reason) && (await noteHaltedCall({ ...work, prices: selected.prices, so_far, reservation }));
    if (is_recorded) settle(work, asking);
    throw error;
  }
}

/** Ends a reservation that was released together with its usage. */
function settle({ ports }: FitWork, asking: Summarising): void {
  if (asking.reservation) ports.caps.settled(asking.reservation);
  asking.reservation = null;
}

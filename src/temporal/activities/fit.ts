import { ApplicationFailure } from '@temporalio/activity';
import { fileTokens } from '../../domain/attachments.ts';
import { terse } from '../../domain/caveman.ts';
import {
  type Cut,
  findCompactionCut,
  formatForSummary,
  isStanding,
  SUMMARY_INSTRUCTIONS,
  SUMMARY_POSITION,
  sinceSummary,
  summaryMessage,
  transcriptSize,
} from '../../domain/compaction.ts';
import { estimateTokens } from '../../domain/context-window.ts';
import type { Definition, ToolSpec } from '../../domain/definition.ts';
import { dropCalls } from '../../domain/model-failure.ts';
import { type FileTakers, listShownFiles } from '../../domain/result-files.ts';
import { storable, type TranscriptMessage } from '../../domain/transcript.ts';
import { shorterAsTsv } from '../../domain/tsv.ts';
import { addUsage, toUsage } from '../../domain/usage.ts';
import { createTaskEvents } from '../../events/task-events.ts';
import type { SelectedRuntime } from '../../runtimes/select.ts';
import type { OpenRun, RunStore } from '../../store/runs/runs.ts';
import { retryWhileDown, staleAttempt } from './attempt.ts';

export interface FitPorts {
  runs: Pick<RunStore, 'compact'>;
  /** The runs whose models have refused files of tools' results. */
  file_takers: FileTakers;
  /** Returns the context window of the run's model, in tokens. */
  getContextWindow(definition: Definition): number;
  now(): string;
}

interface FitWork {
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
  /** The run, including the cost of the summary. */
  run: OpenRun;
  /** The approximate number of tokens that the model is sent. */
  tokens: number;
}

/** Shares of the context window: a transcript above the first is compacted until the remaining rounds fill the second. */
const FULL = 0.8;
const KEPT = 0.4;

/**
 * Returns the part of a transcript to send. Compacts the transcript if the window is nearly full; fails the run if compaction is
 * off or insufficient.
 */
export async function fitTranscript(work: FitWork, messages: readonly TranscriptMessage[], signal: AbortSignal): Promise<Fitted> {
  const { ports, run, definition, instructions, tools } = work;
  const { infinite_session, tsv_tool_results, caveman } = definition.settings;
  const window = ports.getContextWindow(definition);
  const fixed_tokens =
    estimateTokens(instructions) + (tools.length > 0 ? estimateTokens(JSON.stringify(tools)) : 0) + fileTokens(run.attachments);
  const kinds = ports.file_takers.get(run.task_id) ?? 'all';
  const messageForModel = (message: TranscriptMessage) => shortenMessage(message, { tsv_tool_results, caveman });
  const toFit = (read: TranscriptMessage[], paid: OpenRun): Fitted => {
    const transcript = read.map(messageForModel);
    const shown_tokens = fileTokens(listShownFiles(read, { kinds, window }).map(({ file }) => file));
    return { transcript, run: paid, tokens: fixed_tokens + shown_tokens + transcriptSize(transcript) };
  };
  const read = sinceSummary(messages);
  let fit = toFit(read, run);
  if (work.selected.keeps_context) return fit;
  const cut = infinite_session && fit.tokens > window * FULL ? findCompactionCut(read, window * KEPT - fixed_tokens) : null;
  if (cut) {
    const { summary, paid } = await summarise(work, cut, signal);
    fit = toFit([...read.filter(isStanding), summary, ...cut.recent], paid);
  }
  if (fit.tokens > window) throw windowFull(fit.tokens, window, infinite_session);
  return fit;
}

/** Returns a message in the shorter form that the workflow asks for; the stored message stays unchanged. */
function shortenMessage(
  message: TranscriptMessage,
  { tsv_tool_results, caveman }: { tsv_tool_results: boolean; caveman: boolean },
): TranscriptMessage {
  const { kind, content } = message;
  if (tsv_tool_results && kind === 'result') return { ...message, content: shorterAsTsv(content) };
  return caveman && kind === 'context' ? { ...message, content: terse(content) } : message;
}

function windowFull(tokens: number, window: number, infinite: boolean): ApplicationFailure {
  const advice = infinite ? 'the rest cannot be compacted' : 'infinite_session is off';
  const message = `The model's context window is full: about ${tokens} of ${window} tokens, and ${advice}`;
  return ApplicationFailure.nonRetryable(message, 'context_window_full');
}

/** Lets the model summarise older rounds and records the summary, which later steps read instead of these rounds. */
async function summarise(work: FitWork, { older, step: last_step }: Cut, signal: AbortSignal) {
  const { ports, run, definition, selected, step } = work;
  const prompt: TranscriptMessage = {
    step: 0,
    position: 0,
    role: 'user',
    kind: 'prompt',
    tool_calls: null,
    call_id: null,
    extra: null,
    content: formatForSummary(older),
  };
  const exchange = {
    task_id: run.task_id,
    model: definition.model,
    instructions: SUMMARY_INSTRUCTIONS,
    transcript: [prompt],
    tools: [],
    reasoning_effort: null,
    wants_json: false,
    cursor: null,
  };
  const { reply } = await selected.runtime.exchange(exchange, () => {}, signal);
  const { text } = dropCalls(reply, 'writing the summary of its older messages');
  const content = summaryMessage(storable(text));
  const attempt_usage = toUsage(reply, { asked: definition.model, prices: selected.prices });
  const summary: TranscriptMessage = { ...prompt, step: last_step, position: SUMMARY_POSITION, kind: 'summary', content };
  const { log, usage } = createTaskEvents(run.task_id, ports.now);
  const paid = { ...run, ...addUsage(run, attempt_usage) };
  const compacted = log('compaction', `${older.length} messages were replaced by a summary`, {
    step,
    messages: older.length,
    up_to_step: last_step,
  });
  const entry = { step, message: summary, usage: attempt_usage, events: [compacted, usage(paid)] };
  if (!(await retryWhileDown(() => ports.runs.compact(run, entry), signal))) throw staleAttempt();
  return { summary, paid };
}

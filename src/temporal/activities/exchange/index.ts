import { ApplicationFailure } from '@temporalio/activity';
import type { AttachedFile } from '../../../domain/attachments.ts';
import { tokensOf } from '../../../domain/context-window.ts';
import { missingFor } from '../../../domain/continuity.ts';
import type { Definition, ModelPrices, WorkspaceOwner } from '../../../domain/definition.ts';
import { eventsOf } from '../../../domain/events.ts';
import { ModelFailure } from '../../../domain/model-failure.ts';
import type { ExchangeOrder, ExchangeResult } from '../../../domain/run-loop.ts';
import { isTerminal } from '../../../domain/statuses.ts';
import { storable } from '../../../domain/transcript.ts';
import { addUsage, NO_USAGE, spentOn, type UsageSoFar, usageSoFar } from '../../../domain/usage.ts';
import type { PublishDeltas } from '../../../events/publisher.ts';
import type { Verdict } from '../../../guardrails/judge.ts';
import type { SelectedRuntime } from '../../../runtimes/select.ts';
import type { BegunStep, FirstRun, OpenRun, RunStore } from '../../../store/runs/runs.ts';
import type { TokenUseFacts } from '../../../store/secrets/tokens.ts';
import type { Toolbox } from '../../../tools/for-agent.ts';
import { type AdmissionPorts, admitted } from '../admission.ts';
import { type Halts, halted, isHalt, runAttempt, staleAttempt, taskEnded, written } from '../attempt.ts';
import type { ContextPorts } from '../context.ts';
import { type ParkBehind, parkedBehind } from '../continuity.ts';
import { retryDelay } from '../failure.ts';
import type { FitPorts } from '../fit.ts';
import type { RunSecrets } from '../secrets.ts';
import type { ToolsAsked } from '../tools-asked.ts';
import { askModel } from './ask.ts';
import { beginStep } from './begin.ts';
import { recordedCalls, recordReply } from './record.ts';

export interface ExchangePorts extends AdmissionPorts, ContextPorts, Omit<FitPorts, 'runs'> {
  runs: Omit<RunStore, 'freezeToolset' | 'note' | 'openFirst' | 'settle'>;
  halts: Halts;
  definition(hash: string): Promise<Definition>;
  parkBehind: ParkBehind;
  /** `key`: what the beginning of the step has found of its provider's key; null: the key is opened by itself. */
  runtimeOf(run: OpenRun, definition: Definition, key?: Promise<BegunStep> | null): Promise<SelectedRuntime>;
  /** How a run uses its provider's key. `known` says it before the run is read, if this process has asked before. */
  keyUses: {
    of(run: OpenRun, definition: Definition): Promise<TokenUseFacts | null>;
    known(task_id: string): TokenUseFacts | null;
  };
  /** MCP tools are listed once per run; nothing is published about them before `ready`. */
  toolsOf(asked: ToolsAsked, signal: AbortSignal): Promise<Toolbox>;
  /** Forwards text in batches. */
  publisher: PublishDeltas;
  /** Files of a run with their bytes, in this order. */
  filesOf(files: readonly AttachedFile[]): Promise<(AttachedFile & { content: Uint8Array })[]>;
  workspaces: { open(run: WorkspaceOwner, signal: AbortSignal): Promise<{ commit: string | null }> };
  /** The longest that a provider may ask to be left alone. */
  longest_wait_ms: number;
  /** Judges a text of the model by the run's output guardrails. */
  judge(definition: Definition, text: string, facts: { final: boolean; owner: string }): Promise<Verdict>;
  /** Why a final answer does not fit the output schema of the run; empty if it does, or if there is none. */
  answerFaults(definition: Definition, text: string, owner: string): Promise<string[]>;
  /** Whether texts must be judged before any part of them is shown. */
  holdsBack(definition: Definition): boolean;
}

/** What is needed before the run's secrets are known. */
export interface FirstPorts {
  runs: Pick<RunStore, 'openFirst'>;
  secrets: RunSecrets;
}

/** What one attempt of a step works with. */
export interface ExchangeAttempt {
  ports: ExchangePorts;
  run: OpenRun | FirstRun;
  definition: Definition;
  order: ExchangeOrder;
  /** The step, if it was begun when the run was opened; null: it is still to be begun. */
  begun: BegunStep | null;
  /** The use of the provider's key that the beginning puts on record; null: none. */
  key: TokenUseFacts | null;
  /** The prices of the model, once it was selected. */
  prices?: ModelPrices;
  /** What the model call has used so far; absent: none was made. */
  so_far?: UsageSoFar;
}

/** One exchange with the model, recorded once per (task, step): a recorded step is not paid for again. */
export const exchangeActivity =
  (ports: ExchangePorts & FirstPorts) =>
  (task_id: string, order: ExchangeOrder): Promise<ExchangeEnd> =>
    runAttempt(ports.halts, task_id, async (signal) => {
      // The first step reads the run before its secrets are known, as the run says which these are.
      const first = order.step === 1 ? await ports.runs.openFirst(task_id) : undefined;
      return ports.secrets.during(task_id, () => exchangeStep(ports, [task_id, order, first], signal), first);
    });

/** `waiting`: the run waits for a higher budget. `behind`: it waits because its record is behind. */
type ExchangeEnd = ExchangeResult | 'waiting' | 'behind';

/** The exchange, independent of the engine. */
export async function exchangeStep(
  ports: ExchangePorts,
  [task_id, order, first]: [string, ExchangeOrder, FirstRun?],
  signal: AbortSignal,
): Promise<ExchangeEnd> {
  const { run, begun, key } = first ? { run: first, begun: null, key: null } : await opened(ports, task_id, order);
  if (!run || isTerminal(run.status)) throw taskEnded(task_id, run?.status);
  if (run.recorded) return recordedCalls(run, order.step);
  if (run.halt_requested) throw halted();
  const missing = missingFor(order, run);
  if (missing) return parkedBehind(ports, run, missing);
  const definition = await ports.definition(run.definition_hash);
  const used = await ports.keyUses.of(run, definition);
  const work: ExchangeAttempt = { ports, run, definition, order, begun, key: begun ? key : used };
  await admitted(ports, run, { provider: definition.provider, step: order.step });
  try {
    const answer = await askModel(work, await beginStep(work, signal));
    return answer === 'waiting' ? answer : await recordReply(work, answer, signal);
  } catch (error) {
    if (isHalt(signal.reason)) await noteHalt(work);
    if (signal.aborted || !(error instanceof ModelFailure)) throw error;
    throw await noteFailure(work, error, signal);
  }
}

/** A step that writes something before its model call is begun by itself, once the run has been read. */
async function opened({ runs, keyUses, now }: ExchangePorts, task_id: string, { step, turns, denied, remind }: ExchangeOrder) {
  const key = keyUses.known(task_id);
  if (step > 1 && denied.length === 0 && !remind)
    return { ...(await runs.openAndBegin(task_id, { step, turns, key, at: now() })), key };
  return { run: await runs.open(task_id, step), begun: null, key };
}

/** Counts what a halted model call has used. Not at any price: the halt does not wait for a database that is down. */
async function noteHalt({ ports, run, definition, order, prices = {}, so_far }: ExchangeAttempt): Promise<void> {
  if (!so_far) return;
  const { estimated, ...answered } = usageSoFar(so_far, tokensOf);
  const spent = spentOn(answered, { asked: definition.model, prices });
  const events = [eventsOf(run.task_id, ports.now).usage(addUsage(run, spent), { estimated })];
  const noted = { step: order.step, model: answered.model, usage: spent, estimated, events };
  await ports.runs.noteHalted(run, noted).catch(() => false);
}

async function noteFailure(
  { ports, run, definition, order, prices = {} }: ExchangeAttempt,
  failure: ModelFailure,
  signal: AbortSignal,
): Promise<ApplicationFailure> {
  const { message, code, recoverable, retry_after_ms, answer } = failure;
  const { final, delay_ms } = retryDelay({ recoverable, errors: run.errors, retry_after_ms, most_ms: ports.longest_wait_ms });
  const wait = `asking again in ${(delay_ms / 1_000).toFixed(1)} s`;
  const { log, usage } = eventsOf(run.task_id, ports.now);
  const spent = answer ? spentOn(answer, { asked: definition.model, prices }) : NO_USAGE;
  const retried = log(code === 'rate_limited' ? 'rate_limited' : 'retry', `${storable(message)}; ${wait}`, {
    step: order.step,
    error_code: code,
    wait_ms: delay_ms,
  });
  const noted = {
    step: order.step,
    error: storable(message),
    model: answer?.model ?? null,
    usage: spent,
    events: [...(answer ? [usage(addUsage(run, spent))] : []), ...(final ? [] : [retried])],
  };
  if (!(await written(() => ports.runs.noteError(run, noted), signal))) return staleAttempt();
  return ApplicationFailure.create({ message, type: code, nonRetryable: final, nextRetryDelay: delay_ms });
}

import type { AttachedFile } from '../../../domain/attachments.ts';
import type { NamedWindow } from '../../../domain/context-window.ts';
import type { Definition, ModelPrices, WorkspaceOwner } from '../../../domain/definition.ts';
import type { FallbackReason } from '../../../domain/fallback-reasons.ts';
import type { ExchangeOrder } from '../../../domain/run-loop.ts';
import type { UsageSoFar } from '../../../domain/usage.ts';
import type { PublishDeltas } from '../../../events/publisher.ts';
import type { Verdict } from '../../../guardrails/judge.ts';
import type { SelectedRuntime } from '../../../runtimes/select.ts';
import type { OpenRun, RunStore } from '../../../store/runs/runs.ts';
import type { Toolbox } from '../../../tools/for-agent.ts';
import type { AdmissionPorts } from '../admission.ts';
import type { Halts } from '../attempt.ts';
import type { ContextPorts } from '../context.ts';
import type { ParkBehind } from '../continuity.ts';
import type { FitPorts } from '../fit.ts';
import type { StartPorts } from '../offered.ts';
import type { ToolsAsked } from '../tools-asked.ts';
import type { PricePorts } from '../unpriced.ts';

/** The inputs of one attempt of a step. */
export interface ExchangeAttempt {
  ports: ExchangePorts;
  run: OpenRun;
  /** The run's definition as it is pinned. */
  pinned: Definition;
  /** The position of the model that is asked: 0 for the run's own, otherwise that of a fallback. */
  position: number;
  /** The definition with the model that is asked in place of the run's own. */
  definition: Definition;
  order: ExchangeOrder;
  /** The prices of the model; absent until the model is selected. */
  prices?: ModelPrices;
  /** What is reserved for the call in budgets above the run; null: nothing. */
  reservation: string | null;
  /** True if a model was asked, for an answer or for a summary; absent: none yet. */
  has_asked?: boolean;
  /** The model call's usage so far; absent: no call was made. */
  so_far?: UsageSoFar;
}

export interface ExchangePorts
  extends AdmissionPorts,
    ContextPorts,
    StartPorts,
    Omit<FitPorts, 'runs'>,
    Omit<PricePorts, 'runs'> {
  runs: Omit<RunStore, 'freezeToolset' | 'note' | 'settle'>;
  halts: Halts;
  definition(hash: string): Promise<Definition>;
  parkBehind: ParkBehind;
  /**
   * Opens the model's runtime. The provider's key is opened after `begun` resolves: its use is on record only for the attempt
   * that has the step.
   */
  openRuntime(run: OpenRun, definition: Definition, begun: Promise<unknown>): Promise<SelectedRuntime>;
  /** Lists the tools of a run; MCP tools are listed once per run. Nothing is published about them before `ready`. */
  listTools(query: ToolsAsked, signal: AbortSignal): Promise<Toolbox>;
  /** Forwards text in batches. */
  publisher: PublishDeltas;
  /** Returns the window that was named for the provider and the model of a fallback; null: none was. */
  findNamedWindow(definition: Definition): Promise<NamedWindow | null>;
  /** Counts a switch to a fallback. */
  countFallback(reason: FallbackReason): void;
  /** Returns the files of a run with their bytes, in the given order. */
  loadFiles(files: readonly AttachedFile[]): Promise<(AttachedFile & { content: Uint8Array })[]>;
  /** Returns the files of tools' results that belong to the owner, with their bytes; files that were removed are left out. */
  loadResultFiles(files: readonly AttachedFile[], owner: string): Promise<(AttachedFile & { content: Uint8Array })[]>;
  workspaces: { open(run: WorkspaceOwner, signal: AbortSignal): Promise<{ commit: string | null }> };
  /** The longest wait that a provider may demand before the next request. */
  longest_wait_ms: number;
  /** Checks a text of the model against the run's output guardrails. */
  judge(definition: Definition, text: string, facts: { final: boolean; owner: string }): Promise<Verdict>;
  /** Returns the reasons why a final answer does not fit the run's output schema; empty if it fits, or if there is no schema. */
  listOutputErrors(definition: Definition, text: string, owner: string): Promise<string[]>;
  /** True if texts must pass the guardrails before any part of them is shown. */
  holdsBack(definition: Definition): boolean;
}

/** Ends what was reserved for a call that used nothing. */
export async function dropReservation(work: ExchangeAttempt): Promise<void> {
  await work.ports.caps.release(work.reservation);
  work.reservation = null;
}

/** Ends what was reserved for a call, if `is_recorded`: its usage was recorded, which has released it. */
export function settleReservation(work: ExchangeAttempt, is_recorded: boolean): boolean {
  if (is_recorded && work.reservation) {
    work.ports.caps.settled(work.reservation);
    work.reservation = null;
  }
  return is_recorded;
}

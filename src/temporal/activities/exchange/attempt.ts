import type { AttachedFile } from '../../../domain/attachments.ts';
import type { Definition, ModelPrices, WorkspaceOwner } from '../../../domain/definition.ts';
import type { ExchangeOrder } from '../../../domain/run-loop.ts';
import type { UsageSoFar } from '../../../domain/usage.ts';
import type { PublishDeltas } from '../../../events/publisher.ts';
import type { Verdict } from '../../../guardrails/judge.ts';
import type { SelectedRuntime } from '../../../runtimes/select.ts';
import type { FirstRun, OpenRun, RunStore, StepClaim } from '../../../store/runs/runs.ts';
import type { TokenUseFacts } from '../../../store/secrets/tokens.ts';
import type { Toolbox } from '../../../tools/for-agent.ts';
import type { AdmissionPorts } from '../admission.ts';
import type { Halts } from '../attempt.ts';
import type { ContextPorts } from '../context.ts';
import type { ParkBehind } from '../continuity.ts';
import type { FitPorts } from '../fit.ts';
import type { ToolsAsked } from '../tools-asked.ts';

/** What one attempt of a step works with. */
export interface ExchangeAttempt {
  ports: ExchangePorts;
  run: OpenRun | FirstRun;
  definition: Definition;
  order: ExchangeOrder;
  /** The step, if it was begun when the run was opened; null: it is still to be begun. */
  claim: StepClaim | null;
  /** The use of the provider's key that the beginning puts on record; null: none. */
  key: TokenUseFacts | null;
  /** The prices of the model, once it was selected. */
  prices?: ModelPrices;
  /** What the model call has used so far; absent: none was made. */
  so_far?: UsageSoFar;
}

export interface ExchangePorts extends AdmissionPorts, ContextPorts, Omit<FitPorts, 'runs'> {
  runs: Omit<RunStore, 'freezeToolset' | 'note' | 'openFirst' | 'settle'>;
  halts: Halts;
  definition(hash: string): Promise<Definition>;
  parkBehind: ParkBehind;
  /** `key`: what the beginning of the step has found of its provider's key; null: the key is opened by itself. */
  openRuntime(run: OpenRun, definition: Definition, key?: Promise<StepClaim> | null): Promise<SelectedRuntime>;
  /** How a run uses its provider's key. `known` says it before the run is read, if this process has asked before. */
  keyUses: {
    of(run: OpenRun, definition: Definition): Promise<TokenUseFacts | null>;
    findKnown(task_id: string): TokenUseFacts | null;
  };
  /** MCP tools are listed once per run; nothing is published about them before `ready`. */
  listTools(query: ToolsAsked, signal: AbortSignal): Promise<Toolbox>;
  /** Forwards text in batches. */
  publisher: PublishDeltas;
  /** Files of a run with their bytes, in this order. */
  loadFiles(files: readonly AttachedFile[]): Promise<(AttachedFile & { content: Uint8Array })[]>;
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

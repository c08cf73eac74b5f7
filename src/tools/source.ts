import type { ToolSpec } from '../domain/definition.ts';
import { shortened } from '../domain/outside.ts';
import { storable } from '../domain/transcript.ts';

/** The run a call belongs to. */
export interface RunContext {
  task_id: string;
  workflow_id: string;
  agent_id: string;
  /** Of what the run was pinned with. */
  definition_hash: string;
  /** The principal in whose name tools use stored tokens. */
  owner: string;
  /** The run's own directory, made when the first of its tools asks for it. Throws `ToolUnreachable` when it cannot be. */
  workspace(signal: AbortSignal): Promise<string>;
}

export interface ToolCall {
  call_id: string;
  name: string;
  arguments: Record<string, unknown>;
  /** Stable over retries of the same call: the tool can know a repetition by it. */
  call_key: string;
  run: RunContext;
  /** Tells whoever watches how far a long call has come. */
  progress?: ((text: string, data?: Record<string, unknown>) => void) | undefined;
}

export interface ToolOutcome {
  /** What the model is told. */
  content: string;
  failed: boolean;
  /** What the tool printed, for the run's log. */
  stdout?: string;
  stderr?: string;
  /** What confined it, where something did. */
  isolation?: string;
}

/** Somewhere tools come from. `call` reports a tool's own failure in the outcome; it throws only when the source is out of reach. */
export interface ToolSource {
  list(signal: AbortSignal): Promise<ToolSpec[]>;
  call(call: ToolCall, signal: AbortSignal): Promise<ToolOutcome>;
}

/** The source could not be reached, so nothing was done: another attempt is safe. */
export class ToolUnreachable extends Error {
  override readonly name = 'ToolUnreachable';

  constructor(message: string, options?: ErrorOptions) {
    super(storable(shortened(message)), options);
  }
}

import type { LogData } from '../contracts/events.ts';
import type { ToolSpec } from '../domain/definition.ts';
import { asLack, findOutage } from '../domain/outages.ts';
import { truncate } from '../domain/outside.ts';
import type { TodoItem } from '../domain/progress.ts';
import type { Answer, FormQuestion } from '../domain/questions.ts';
import type { ToolIdentity } from '../domain/tool-guards.ts';
import { storable } from '../domain/transcript.ts';

/** The run a call belongs to. */
export interface RunContext {
  task_id: string;
  workflow_id: string;
  agent_id: string;
  /** The hash of the run's pinned definition. */
  definition_hash: string;
  /** The principal in whose name tools use stored tokens. */
  owner: string;
  /**
   * Returns the run's directory, made when its first tool asks for it. Throws `ToolUnreachable` if that fails. A tool that writes
   * nothing in it sets `reads_only`: then it may be full, and is not stored again after the call.
   */
  workspace(signal: AbortSignal, use?: { reads_only: boolean }): Promise<string>;
}

/**
 * Asks the person of a run while its tool runs, and resolves with the answer; with `cancel` if nobody answers in time. Rejects
 * with `QuestionRefused` if nobody is asked. An abort of the signal withdraws the question.
 */
export type AskPerson = (question: FormQuestion, signal: AbortSignal) => Promise<Answer>;

export interface ToolCall {
  call_id: string;
  name: string;
  /** The identity of the tool that the source listed; a toolbox finds it by `name`. */
  identity?: ToolIdentity;
  /** The arguments as JSON, parsed by `parseExact`. */
  arguments: Record<string, unknown>;
  /** A key that stays the same when the call is retried, so that the tool can recognise a repetition. */
  call_key: string;
  run: RunContext;
  /** Publishes the progress of a long call. */
  progress?: ((text: string, data?: Pick<LogData<'progress'>, 'progress' | 'total'>) => void) | undefined;
  /** Asks a person; absent: nobody can be asked. */
  ask?: AskPerson | undefined;
}

/** A file that a tool returned: an image, a sound, or another one. */
export interface ToolFile {
  name: string;
  media_type: string;
  content: Uint8Array;
}

export interface ToolOutcome {
  /** The result as the model receives it. */
  content: string;
  failed: boolean;
  /** The tool's output, for the run's log. */
  stdout?: string;
  stderr?: string;
  /** The confinement of the call, if there was one. */
  isolation?: string;
  /** Files of the result, which the run keeps for its owner. The text names them. */
  files?: ToolFile[];
  /** The run's to-do list, if the call sets it: it is written with the result. */
  todos?: TodoItem[];
}

/** A tool as its source lists it. */
export interface SourceTool extends ToolSpec {
  identity: ToolIdentity;
  /** The source's own name of the tool; absent: `name`. */
  own_name?: string;
}

/**
 * A source of tools. `call` reports a tool's own failure in the outcome; it throws only if the source is unreachable, or if the
 * outcome of the call is uncertain.
 */
export interface ToolSource {
  list(signal: AbortSignal): Promise<SourceTool[]>;
  call(call: ToolCall, signal: AbortSignal): Promise<ToolOutcome>;
}

/** The source was unreachable, and a retry is safe: the call had no effect, or a repetition has no further effect. */
export class ToolUnreachable extends Error {
  override readonly name = 'ToolUnreachable';
  /** True if the call may have reached the tool. */
  readonly reached: boolean;

  constructor(message: string, { reached = false, ...options }: ErrorOptions & { reached?: boolean } = {}) {
    super(storable(truncate(message)), options);
    this.reached = reached;
  }
}

/**
 * The source was lost during a call, or did not answer it, and a repetition could have the effect a second time. A person
 * decides about the call.
 */
export class ToolUncertain extends Error {
  override readonly name = 'ToolUncertain';

  constructor(message: string, options?: ErrorOptions) {
    super(storable(truncate(message)), options);
  }
}

/** Rethrows a failure from before a tool starts. If the installation lacks something, the call is held and tried again. */
export function unreachableWhileDown(error: Error): never {
  if (!findOutage(error)) throw error;
  const lack = asLack(error) as Error;
  throw new ToolUnreachable(lack.message, { cause: lack });
}

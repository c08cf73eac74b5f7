import type { ToolSpec } from '../domain/definition.ts';
import { shortened } from '../domain/outside.ts';
import { storable, type TranscriptMessage } from '../domain/transcript.ts';
import type { ExchangeUsage } from '../domain/usage.ts';

/** One exchange with a model: everything it is told. */
export interface Exchange {
  task_id: string;
  model: string | null;
  instructions: string;
  /** In order; replies carry their calls, results follow them. */
  transcript: TranscriptMessage[];
  /** Empty when the model must answer without tools. */
  tools: ToolSpec[];
  reasoning_effort: string | null;
  /** Ask the endpoint for JSON where it can be asked. */
  wants_json: boolean;
  /** The runtime's own JSON from the exchange before; null at first. */
  cursor: unknown;
}

export interface ModelReply {
  text: string;
  /** As the model made them: ids are the provider's, arguments its raw text. */
  calls: { id: string; name: string; arguments: string }[];
  /** `stop`, `tool_calls`, `length`, `content_filter` … in the vocabulary of chat completions. */
  finish: string;
  /** The model that answered, by its own name. */
  model: string | null;
  usage: ExchangeUsage;
  /** What must be sent back with this reply in later exchanges. */
  extra: unknown;
  /** Calls of tools that ran at the provider meanwhile, as far as it told of them. */
  made_there?: CallMadeThere[];
}

export interface CallMadeThere {
  id: string;
  name: string;
  arguments: string;
  /** Null while nothing was heard of its end. */
  result: { content: string; failed: boolean } | null;
}

/** A way to reach a model. */
export interface ModelRuntime {
  /**
   * One exchange: ends with a final text or with tool calls to answer. Text is emitted as it comes.
   * Throws a ModelFailure for what the provider did wrong, the signal's reason when aborted.
   */
  exchange(input: Exchange, emit: (delta: string) => void, signal: AbortSignal): Promise<{ reply: ModelReply; cursor: unknown }>;
  /** Ends what the provider keeps for a run; done twice is done once. Absent where nothing is kept. Throws when it could not be done. */
  end?(run: EndedRun, signal: AbortSignal): Promise<void>;
}

interface EndedRun {
  task_id: string;
  /** Of the last recorded reply; null where none was recorded. */
  cursor: unknown;
  started_at: Date | null;
}

/** What a provider did wrong, in its own words; `recoverable` failures are worth another attempt. */
export class ModelFailure extends Error {
  readonly code: string;
  readonly recoverable: boolean;
  /** How long the provider asked to be left alone, in milliseconds. */
  readonly retry_after_ms: number | undefined;

  constructor(
    message: string,
    { code, recoverable, retry_after_ms }: { code: string; recoverable: boolean; retry_after_ms?: number | undefined },
  ) {
    super(storable(shortened(message)));
    this.name = 'ModelFailure';
    this.code = code;
    this.recoverable = recoverable;
    this.retry_after_ms = retry_after_ms;
  }
}

import type { SetCallSettings } from '../contracts/call-settings.ts';
import type { HostedTool, ToolSpec } from '../domain/definition.ts';
import type { SentMessage } from '../domain/transcript.ts';
import type { Answered, ExchangeUsage } from '../domain/usage.ts';

/** The input of one exchange with a model. */
export interface Exchange {
  task_id: string;
  model: string | null;
  instructions: string;
  /**
   * The messages in order; replies carry their calls, results follow them. It may have several turns: the last message belongs to the
   * one that is asked for.
   */
  transcript: SentMessage[];
  /** Empty if the model must answer without tools. */
  tools: ToolSpec[];
  /** Tools that the provider itself runs, as it reads them; absent: none. */
  hosted_tools?: readonly HostedTool[];
  /** The model must call one of the tools; absent: it decides. */
  must_call?: boolean;
  reasoning_effort: string | null;
  /** The same for all runs of one workflow, so that an endpoint finds what it cached of their requests; absent: none. */
  cache_key?: string;
  /** The settings of the call; absent: the model's own. */
  call_settings?: SetCallSettings;
  /** Request JSON if the endpoint supports it. */
  wants_json: boolean;
  /** JSON Schema of the final answer; absent: any. */
  output_schema?: Record<string, unknown> | undefined;
  /** The runtime's JSON state from the previous exchange; null at first. */
  cursor: unknown;
  /** Receives the exchange's usage so far, whenever the endpoint reports it. */
  report?: (usage: Answered) => void;
  /** Receives, as it arrives, what the model writes apart from its text: thinking and calls. It counts if the answer is cut. */
  reportHidden?: (piece: string) => void;
}

export interface ModelReply {
  text: string;
  /** The calls as the model sent them: provider ids and raw argument text. */
  calls: { id: string; name: string; arguments: string }[];
  /** What the model thought before it answered, if the endpoint shows it; absent: nothing. */
  reasoning?: string;
  /** `stop`, `tool_calls`, `length`, `content_filter` … in the vocabulary of chat completions. */
  finish: string;
  /** The name that the answering model reports for itself. */
  model: string | null;
  usage: ExchangeUsage;
  /** True if the endpoint did not report a part of the usage, which is estimated; absent: false. */
  estimated?: boolean;
  /** Data that later exchanges must send back with this reply. */
  extra: unknown;
  /** Calls of tools that ran at the provider, if it reported them. */
  made_there?: CallMadeThere[];
}

export interface CallMadeThere {
  id: string;
  name: string;
  arguments: string;
  /** Null until the end of the call is reported. */
  result: { content: string; failed: boolean } | null;
}

/** A way to reach a model. */
export interface ModelRuntime {
  /**
   * Runs one exchange, which ends with a final text or with tool calls to answer. Emits text as it arrives. Throws a ModelFailure
   * if the provider fails, and the signal's reason if aborted.
   */
  exchange(input: Exchange, emit: (delta: string) => void, signal: AbortSignal): Promise<{ reply: ModelReply; cursor: unknown }>;
  /** Ends the state that the provider keeps for a run. Idempotent; throws on failure. Absent if the provider keeps none. */
  end?(run: EndedRun, signal: AbortSignal): Promise<void>;
}

interface EndedRun {
  task_id: string;
  /** From the last recorded reply; null if there is none. */
  cursor: unknown;
  started_at: Date | null;
}

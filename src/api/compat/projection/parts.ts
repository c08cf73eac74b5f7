import type { z } from 'zod';
import type { Attachment } from '../../../contracts/attachments.ts';
import type { Todo } from '../../../contracts/log-events.ts';
import type { CallQuestion } from '../../../contracts/questions.ts';
import type { TerminalStatus } from '../../../domain/statuses.ts';

/** Who executes a call: a worker, the client, or the provider of the model. */
export type Executor = 'worker' | 'client' | 'provider';

export interface PartCall {
  call_id: string;
  name: string;
  /** The model's own text: usually JSON. */
  arguments: string;
  executor: Executor;
}

export interface PartResult {
  call_id: string;
  content: string;
  failed: boolean;
  files: readonly Attachment[];
  duration_ms?: number | undefined;
}

/** What a run waits for besides decisions about its calls. */
export type WaitReason = 'budget' | 'rate_limit' | 'retry' | 'question' | 'reconciliation' | 'record_behind';

export interface Wait {
  /** Equal for the beginning and the end of one wait. */
  id: string;
  reason: WaitReason;
  detail: string;
  call_id?: string | undefined;
  /** When the wait ends by itself. */
  until?: string | undefined;
  /** What the tool of the call asks. */
  question?: CallQuestion | undefined;
}

/** The state of a message that a person sent to a run, or that begins it. `pending` may come again, every other state is final. */
export interface Receipt {
  message_id: string;
  state: 'pending' | 'started' | 'steered' | 'refused' | 'withdrawn';
  /** The run that it waits for, has entered, or is. */
  task_id: string;
  /** The step that has read it; null: none, or it is the prompt. */
  step: number | null;
  /** Why it was refused. */
  reason?: string | undefined;
  /** The id that the client gave it, if it came with the request of this stream. */
  sent_as?: string | undefined;
}

export interface RunUsage {
  input_tokens: number;
  output_tokens: number;
  cache_read: number;
  cache_write: number;
  cost: number;
}

/** What an event of a run, or a message of its transcript, adds to the conversation that a front end shows. */
export type RunPart =
  | { kind: 'step'; step: number }
  | { kind: 'text'; step: number; delta: string }
  | { kind: 'text_end'; step: number }
  /** The unfinished text of the step is void: it is sent again. */
  | { kind: 'reset'; step: number }
  | { kind: 'reasoning'; step: number; text: string }
  /** A message that a person sent to the run while it worked; `id` is that of its receipt. */
  | { kind: 'steer'; id: string; text: string }
  | { kind: 'receipt'; receipt: Receipt }
  | { kind: 'call'; step: number; call: PartCall }
  | { kind: 'approval_requested'; call_id: string }
  | { kind: 'approval_decided'; call_id: string; approved: boolean; message?: string | undefined }
  | { kind: 'result'; result: PartResult }
  /** A person denied the call, or the turn limit did. */
  | { kind: 'denied'; call_id: string; content: string; by_person: boolean }
  | { kind: 'wait'; wait: Wait }
  | { kind: 'wait_over'; wait: Wait }
  | { kind: 'progress'; detail: string; call_id?: string | undefined; progress?: number | undefined; total?: number | undefined }
  | { kind: 'todos'; todos: readonly z.output<typeof Todo>[] }
  | { kind: 'notice'; event: string; detail: string }
  | { kind: 'usage'; usage: RunUsage }
  /** The installation was restored: what was sent may be void. */
  | { kind: 'restored'; detail: string }
  | { kind: 'end'; status: EndStatus; error: string | null; error_code: string | null; truncated: boolean };

export type EndStatus = TerminalStatus;

/** What a run waits for until somebody answers about one of its calls. */
export type Ask = 'approval' | 'client' | 'question' | 'reconciliation';

/** A call about which a run waits for an answer. */
export interface AskedCall extends PartCall {
  ask: Ask;
  detail: string;
  question: CallQuestion | null;
}

import type { Usage } from './usage.ts';

/** An event of a run; the same shape goes to the database, over the bus and to the client. */
export interface NewEvent {
  type: 'log' | 'message' | 'message_delta' | 'usage' | 'status';
  data: Record<string, unknown>;
  /** The time in ISO 8601, UTC. */
  timestamp: string;
}

export interface StoredEvent extends NewEvent {
  seq: number;
  task_id: string;
}

/** The position of a stream's reader. */
export interface ReaderPlace {
  task_id: string | null;
  after: number;
  epoch: number;
}

export interface EventExtent {
  /** The last assigned number. */
  last: number;
  /** True if the task, when one is named, has ended or was deleted. */
  over: boolean;
  /** The last restore that made numbers of this workflow void. */
  epoch: number;
  /** Set if the reader's number is not from this record: the reader has to begin again after this number. */
  begin_again_after: number | null;
}

/** The published model name of a step whose definition names none. */
export const DEFAULT_MODEL = 'default model';

/** Creates the functions that make a task's events; the clock is an argument, so that domain code needs none. */
export function createTaskEvents(task_id: string, now: () => string) {
  const event = (type: NewEvent['type'], data: Record<string, unknown>): NewEvent => ({ type, data, timestamp: now() });
  return {
    log: (name: string, detail: string, more: Record<string, unknown> = {}) => event('log', { event: name, detail, ...more }),
    message: (role: string, content: string, more: Record<string, unknown> = {}) => event('message', { role, content, ...more }),
    delta: (delta: string) => event('message_delta', { delta }),
    usage: ({ total_in, total_out, cost, cache_read, cache_write, premium_requests }: Usage, { estimated = false } = {}) =>
      event('usage', {
        total_in,
        total_out,
        cost,
        cache_read,
        cache_write,
        premium_requests,
        // The names under which other clients read the sums.
        total_input_tokens: total_in,
        total_output_tokens: total_out,
        total_cost: cost,
        total_premium_requests: premium_requests,
        ...(estimated ? { estimated } : {}),
      }),
    status: (status: string, current_turn: number, more: Record<string, unknown> = {}) =>
      event('status', { status, current_turn, task_id, ...more }),
  };
}

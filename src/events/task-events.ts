import type { LogData, RunEvent } from '../contracts/events.ts';
import type { LogName } from '../contracts/log-events.ts';
import type { Usage } from '../domain/usage.ts';

/** An event of a run; the same shape goes to the database, over the bus and to the client. */
export type NewEvent = RunEvent;
export type StoredEvent = RunEvent & { seq: number; task_id: string };

/** The fields of a log event. Each event of the union has its own. */
type LogFields<N extends LogName> = N extends LogName ? Omit<LogData<N>, 'event' | 'detail'> : never;
type DataOf<T extends RunEvent['type']> = Extract<RunEvent, { type: T }>['data'];
type Status = DataOf<'status'>['status'];

/** Refuses fields that the event does not have, also those of a spread. */
type Only<F, G> = G & { [K in Exclude<keyof G, F extends unknown ? keyof F : never>]: never };
type Given<F, G> = Partial<F> extends F ? [fields?: Only<F, G>] : [fields: Only<F, G>];

/** The published model name of a step whose definition names none. */
export const DEFAULT_MODEL = 'default model';

/** Creates the functions that make a task's events. */
export function createTaskEvents(task_id: string, now: () => string) {
  const event = <T extends RunEvent['type']>(type: T, data: DataOf<T>) => ({ type, data, timestamp: now() }) as NewEvent;
  return {
    log: <N extends LogName, G extends LogFields<N>>(name: N, detail: string, ...[fields]: Given<LogFields<N>, G>) =>
      event('log', { event: name, detail, ...fields } as LogData),
    message: (role: string, content: string, more: Omit<DataOf<'message'>, 'role' | 'content'> = {}) =>
      event('message', { role, content, ...more }),
    delta: (delta: string) => event('message_delta', { delta }),
    usage: ({ total_in, total_out, cost, cache_read, cache_write, premium_requests, estimated, unpriced_models = [] }: Usage) =>
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
        ...(unpriced_models.length > 0 ? { priced: false } : {}),
      }),
    status: (status: Status, current_turn: number, more: Pick<DataOf<'status'>, 'error' | 'error_code'> = {}) =>
      event('status', { status, current_turn, task_id, ...more }),
  };
}

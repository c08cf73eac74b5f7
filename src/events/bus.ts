import type { NewEvent } from '../domain/events.ts';

/** Events of one task up to number `last`; without `events` they are to be read from the record. */
export interface Notice {
  last: number;
  task_id?: string;
  events?: NewEvent[];
}

/**
 * Carries what is already written to whoever watches, on the channel `workflow:events:{workflow_id}`.
 * A notice may be lost or come twice; numbers tell. `on_notice` with `last: Infinity` means that some may have been missed.
 */
export interface EventBus {
  /** Resolves once listening; the function returned ends it. */
  subscribe(workflow_id: string, on_notice: (notice: Notice) => void): Promise<() => void>;
  /** Tells of events that were written; a bus that hears of them from the database itself has nothing to do. */
  announce(workflow_id: string, notice: Notice): void;
  /** Asks every worker to break off what it does for a task. */
  halt(task_id: string): Promise<void>;
  /** Hears of such requests until the function returned is called. */
  onHalt(listener: (task_id: string) => void): Promise<() => void>;
  /** Throws when the bus is out of reach. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export const channelOf = (workflow_id: string) => `workflow:events:${workflow_id}`;
export const HALT_CHANNEL = 'perdura:halts';

export const MISSED: Notice = { last: Number.POSITIVE_INFINITY };

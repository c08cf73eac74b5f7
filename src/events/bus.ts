import type { NewEvent } from '../domain/events.ts';

/** Events of one task up to number `last`; without `events` they are to be read from the record. */
export interface Notice {
  last: number;
  task_id?: string;
  events?: NewEvent[];
}

/**
 * Carries what is already written to whoever watches, on the channel `workflow:events:{workflow_id}`. The bus is a hint: a notice may
 * be lost, late or come twice (numbers tell), nothing needs the bus to start, and nobody waits for it. It connects in the background.
 * `on_notice` with `last: Infinity` means that some may have been missed.
 */
export interface EventBus {
  /** The function returned ends it. */
  subscribe(workflow_id: string, on_notice: (notice: Notice) => void): () => void;
  /** Publishes events that were written; a bus to which the database itself publishes them has nothing to do. */
  announce(workflow_id: string, notice: Notice): void;
  /** Asks every worker to break off what it does for a task. Whom this does not reach, the heartbeat or the record does. */
  halt(task_id: string): void;
  /** Receives such requests until the function returned is called. */
  onHalt(listener: (task_id: string) => void): () => void;
  /** Throws when the bus is out of reach. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export const channelOf = (workflow_id: string) => `workflow:events:${workflow_id}`;
export const HALT_CHANNEL = 'perdura:halts';

/** How often a connection of the bus is asked whether it is there, and how long it may take to answer. */
export const PROBE_MS = 2_000;

export const MISSED: Notice = { last: Number.POSITIVE_INFINITY };

import type { NewEvent } from '../domain/events.ts';

/** Events of one task up to number `last`; without `events`, read them from the record. */
export interface Notice {
  last: number;
  task_id?: string;
  events?: NewEvent[];
  /** Its size on the wire. */
  bytes?: number;
}

/**
 * Sends written events to watchers, on the channel `workflow:events:{workflow_id}`. The bus is a hint: a notice may be lost, late or
 * repeated (event numbers reveal it), nothing needs the bus to start, and nothing waits for it. It connects in the background.
 * `on_notice` with `last: Infinity` means that some notices may have been missed.
 */
export interface EventBus {
  /** Returns a function that ends the subscription. */
  subscribe(workflow_id: string, on_notice: (notice: Notice) => void): () => void;
  /** Publishes events that were written. */
  announce(workflow_id: string, notice: Notice): void;
  /** Asks every worker to stop its work for a task. A worker that misses this learns of it from its heartbeat or the record. */
  halt(task_id: string): void;
  /** Listens for such requests; returns a function that ends it. */
  onHalt(listener: (task_id: string) => void): () => void;
  /** Throws if the bus is unreachable. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export const toChannel = (workflow_id: string) => `workflow:events:${workflow_id}`;
export const HALT_CHANNEL = 'perdura:halts';

/** How often a bus connection is probed, and how long it may take to answer. */
export const PROBE_MS = 2_000;

export const MISSED: Notice = { last: Number.POSITIVE_INFINITY };

import type { RecordChange } from '../contracts/changes.ts';
import type { NewEvent } from './task-events.ts';

/** Events of one task up to number `last`; without `events`, read them from the record. */
export interface Notice {
  last: number;
  task_id?: string;
  events?: NewEvent[];
  /** The size of the notice on the wire, in bytes. */
  bytes?: number;
}

/** A change on its way to those who may learn of it. */
export interface PlacedChange extends RecordChange {
  /** The person who may; null: everybody. Absent: the owner of its workflow. */
  owner?: string | null;
}

/**
 * Sends written events to watchers, on the channel `workflow:events:{workflow_id}`. The bus is a hint: a notice may be lost, late or
 * repeated (event numbers reveal it), nothing needs the bus to start, and nothing waits for it. It connects in the background.
 * `on_notice` with `last: Infinity` means that some notices may have been missed.
 */
export interface EventBus {
  /** Returns a function that ends the subscription. */
  subscribe(workflow_id: string, on_notice: (notice: Notice) => void): () => void;
  /** Publishes events that are already written. */
  announce(workflow_id: string, notice: Notice): void;
  /**
   * Asks every worker to stop its work for a task. A worker that misses the request stops after its heartbeat or the record shows
   * the halt.
   */
  halt(task_id: string): void;
  /** Subscribes to halt requests; returns a function that ends the subscription. */
  onHalt(listener: (task_id: string) => void): () => void;
  /** Publishes a change that is already written. */
  publishChange(change: PlacedChange): void;
  /** Subscribes to changes, with null if some may have been missed; returns a function that ends the subscription. */
  onChange(listener: (change: PlacedChange | null) => void): () => void;
  /** Throws if the bus is unreachable. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export const toChannel = (workflow_id: string) => `workflow:events:${workflow_id}`;
export const HALT_CHANNEL = 'perdura:halts';
export const CHANGES_CHANNEL = 'perdura:changes';

/** The time between probes of a bus connection, and the longest wait for an answer, in milliseconds. */
export const PROBE_MS = 2_000;

export const MISSED: Notice = { last: Number.POSITIVE_INFINITY };

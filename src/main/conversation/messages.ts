import type { PerduraClient, Thread } from '../../client/index.ts';
import { pause } from '../../client/pause.ts';

/** A message, with what became of it. While it is `pending`, no run has read it. */
export interface Receipt {
  id: string;
  thread_id: string | null;
  state: 'pending' | 'started' | 'steered' | 'refused' | 'withdrawn';
  /** The run that it waits for, has entered, or is. */
  task_id: string;
  /** The step that read it; null if it is the prompt of the run, or waits. */
  step: number | null;
  reason: string | null;
}

export interface NewMessage {
  message: string;
  /** The ids of uploaded files. */
  attachments: string[];
  /** What becomes of it while a turn is in progress. */
  when_busy: 'enqueue' | 'steer';
}

type Place = Pick<Thread, 'id' | 'workflow_id'>;

/** Sends a message to a thread. It begins a turn if none is in progress. */
export async function sendMessage(
  client: PerduraClient,
  { id, workflow_id }: Place,
  { message, attachments }: NewMessage,
): Promise<Receipt> {
  const files = attachments.map((file) => ({ id: file }));
  const body = { prompt: message, attachments: files, thread_id: id, on_busy: 'enqueue' as const };
  const { task_id } = await client.request('POST /api/workflows/{id}/prompt', { path: { id: workflow_id }, body });
  return toReceipt({ id: task_id, thread_id: id });
}

const toReceipt = ({ id, thread_id }: Pick<Receipt, 'id' | 'thread_id'>): Receipt => ({
  ...{ id, thread_id, task_id: id, state: 'started', step: null, reason: null },
});

/** Returns the receipt of a turn that is known by its id alone. */
export const receiptOfTurn = (id: string, thread_id: string): Receipt => toReceipt({ id, thread_id });

export async function loadReceipt(_client: PerduraClient, { id, thread_id }: Receipt): Promise<Receipt> {
  return toReceipt({ id, thread_id });
}

/** Sends a message to a run that works or waits; throws if it has not begun, or has ended. */
export async function steerRun(client: PerduraClient, task_id: string, message: string): Promise<Receipt> {
  const { thread_id, workflow_id, status } = await client.tasks.get(task_id, { include: '' });
  if (client.tasks.hasEnded({ status })) throw new Error(`The run ${task_id} has ended: it is ${status}`);
  if (status === 'pending') throw new Error(`The run ${task_id} has not begun; it waits for the run before it`);
  const place = { id: thread_id ?? workflow_id, workflow_id };
  return sendMessage(client, place, { message, attachments: [], when_busy: 'steer' });
}

const PAUSE_MS = 500;

/** Waits until the state of a message is final. */
export async function waitForReceipt(client: PerduraClient, receipt: Receipt): Promise<Receipt> {
  let now = receipt;
  while (now.state === 'pending') {
    await pause(PAUSE_MS);
    now = await loadReceipt(client, now);
  }
  return now;
}

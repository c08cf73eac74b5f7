import type { MessageReceipt, PerduraClient, PromptAccepted } from '../../client/index.ts';
import { pause } from '../../client/pause.ts';

/** The state of a message. While it is `pending`, no run has read it. */
export type Receipt = Pick<MessageReceipt, 'id' | 'thread_id' | 'state' | 'task_id' | 'step' | 'reason'>;

export interface NewMessage {
  message: string;
  /** The ids of uploaded files. */
  attachments: string[];
  /** What happens to it while a turn is in progress. */
  when_busy: 'enqueue' | 'steer';
}

/** Sends a message to a thread. It begins a turn if none is in progress. */
export function sendMessage(client: PerduraClient, thread_id: string, message: NewMessage): Promise<Receipt> {
  const attachments = message.attachments.map((id) => ({ id }));
  return client.request('POST /api/threads/{id}/messages', { path: { id: thread_id }, body: { ...message, attachments } });
}

/** Returns the receipt of a turn that is known by its id alone. */
export const receiptOfTurn = (id: string, thread_id: string | null): Receipt => ({
  id,
  thread_id,
  task_id: id,
  state: 'started',
  step: null,
  reason: null,
});

export function loadReceipt(client: PerduraClient, { id, thread_id, task_id }: Receipt): Promise<Receipt> {
  return thread_id === null
    ? client.request('GET /api/tasks/{id}/messages/{message_id}', { path: { id: task_id, message_id: id } })
    : client.request('GET /api/threads/{id}/messages/{message_id}', { path: { id: thread_id, message_id: id } });
}

/** Sends a message to a run that works or waits; throws if it has not begun, or has ended. */
export async function steerRun(client: PerduraClient, task_id: string, message: string): Promise<Receipt> {
  const { thread_id, workflow_id, status } = await client.tasks.get(task_id, { include: '' });
  if (client.tasks.hasEnded({ status })) throw new Error(`The run ${task_id} has ended: it is ${status}`);
  if (status === 'pending') throw new Error(`The run ${task_id} has not begun; it waits for the run before it`);
  if (thread_id !== null) return sendMessage(client, thread_id, { message, attachments: [], when_busy: 'steer' });
  const body = { prompt: message, on_busy: 'steer' as const };
  // If the run has ended meanwhile, the message starts another one.
  const route = 'POST /api/workflows/{id}/prompt';
  const sent = (await client.request(route, { path: { id: workflow_id }, body })) as PromptAccepted | MessageReceipt;
  return 'state' in sent ? sent : receiptOfTurn(sent.task_id, null);
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

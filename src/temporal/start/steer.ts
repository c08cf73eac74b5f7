import type { Definition } from '../../domain/definition.ts';
import { AppError, conflict } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import type { Snapshot } from '../../store/runs/pin.ts';
import type { PromptOrder } from './new-task.ts';
import type { Accepted, TaskOrder } from './orders.ts';

interface SteerPorts {
  store: Pick<Store, 'messages' | 'definitions' | 'tasks'>;
  /** Throws if guardrails refuse the texts of an order. */
  admitOrder(definition: Definition, order: PromptOrder): Promise<void>;
  /** Starts a run if nobody holds the lane. Throws `workflow_busy` if somebody does. */
  startRun(order: TaskOrder<PromptOrder>): Promise<Accepted>;
}

/** What came of a message: a run that it has started, or the run that works and reads it at its next step. */
export type Sent = { started: Accepted } | { steered: { id: string; task_id: string } };

/** How often a lane may change its holder while a message is sent; then the message waits for its turn. */
const ATTEMPTS = 7;

/** The most messages that may wait for one run. */
const MOST_WAITING = 100;

/** Sends a message to the run that holds a lane, or starts one if nobody holds it. A repeated request finds its message. */
export function createSteering({ store, admitOrder, startRun }: SteerPorts) {
  return async (order: TaskOrder<PromptOrder>, snapshot: Snapshot): Promise<Sent> => {
    const { task_id: id, workflow_id } = order;
    const existing = await store.messages.find(id);
    if (existing?.task_id === id) return { started: await startRun({ ...order, on_busy: 'enqueue' }) };
    if (existing) return { steered: { id, task_id: existing.task_id } };
    const lane = { thread_id: order.thread_id ?? null, workflow_id };
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const holder = order.thread_id === 'new' ? undefined : await store.messages.findHolder(lane);
      if (holder) {
        if (holder.waiting >= MOST_WAITING) throw tooManyWaiting();
        const definition = await store.definitions.get(holder.definition_hash);
        await admitOrder(definition, order);
        await admitOrder({ ...definition, guardrails: snapshot.guardrails }, order);
        if (await store.messages.steer(toSteer(order, { task_id: holder.task_id, definition })))
          return { steered: { id, task_id: holder.task_id } };
      }
      const started = await startRun({ ...order, on_busy: 'steer' }).catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'workflow_busy') return null;
        throw error;
      });
      if (started) return { started };
    }
    return { started: await startRun({ ...order, on_busy: 'enqueue' }) };
  };
}

function toSteer(order: TaskOrder<PromptOrder>, { task_id, definition }: { task_id: string; definition: Definition }) {
  const { owner, owner_login, workflow_id, prompt, attachments = [], receipt, service_key_id = null } = order;
  return {
    id: order.task_id,
    task_id,
    workflow_id,
    thread_id: order.thread_id ?? null,
    owner,
    owner_login,
    message: prompt,
    attachments,
    when_busy: receipt?.when_busy ?? 'steer',
    metadata: receipt?.metadata ?? {},
    service_key_id,
    caller_token: definition.provider === null ? order.access_token : null,
  };
}

const tooManyWaiting = () =>
  conflict(`${MOST_WAITING} messages wait for this run already; wait until it has read them`, 'too_many_waiting');

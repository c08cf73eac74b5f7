import type { Definition } from '../../domain/definition.ts';
import { AppError, conflict, unprocessable } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import type { Snapshot } from '../../store/runs/pin.ts';
import type { LaneHolder } from '../../store/runs/thread-messages.ts';
import type { PromptOrder } from './new-task.ts';
import type { Accepted, ForkOrder, Sent, TaskOrder } from './orders.ts';

interface SendingPorts {
  store: Pick<Store, 'messages' | 'definitions' | 'tasks' | 'forks'>;
  /** Throws if guardrails refuse the texts of an order. */
  admitOrder(definition: Definition, order: PromptOrder): Promise<void>;
  /** Starts a run if nobody holds the lane. Throws `workflow_busy` if somebody does. */
  startRun(order: TaskOrder<PromptOrder>): Promise<Accepted>;
  startFork(order: TaskOrder<ForkOrder>): Promise<Accepted>;
}

/** How often a lane may change its holder while a message is sent; then the message waits for its turn. */
const ATTEMPTS = 7;

/** The most messages that may wait for one run. */
const MOST_WAITING = 100;

const toLane = ({ thread_id, workflow_id }: Pick<PromptOrder, 'thread_id' | 'workflow_id'>) => ({
  thread_id: thread_id ?? null,
  workflow_id,
});

/** Sends messages about which the run that holds their lane matters. A repeated request finds its message. */
export function createSending({ store, admitOrder, startRun, startFork }: SendingPorts) {
  const findHolder = async (order: PromptOrder) =>
    order.thread_id === 'new' ? undefined : store.messages.findHolder(toLane(order));

  /** Writes a message for the run that holds its lane. Returns false if that is another one meanwhile. */
  async function steerHolder(
    order: TaskOrder<PromptOrder>,
    { holder, snapshot }: { holder: LaneHolder; snapshot: Snapshot },
  ): Promise<boolean> {
    if (holder.waiting >= MOST_WAITING) throw tooManyWaiting();
    const definition = await store.definitions.get(holder.definition_hash);
    await admitOrder(definition, order);
    await admitOrder({ ...definition, guardrails: snapshot.guardrails }, order);
    return store.messages.steer(toSteer(order, { task_id: holder.task_id, definition }));
  }

  return {
    /** Sends a message to the run that holds its lane, or starts one if nobody holds it. */
    async steer(order: TaskOrder<PromptOrder>, snapshot: Snapshot): Promise<Sent> {
      const { task_id: id } = order;
      const existing = await store.messages.find(id);
      if (existing && existing.task_id !== id) return { steered: { id, task_id: existing.task_id } };
      for (let attempt = 0; attempt < ATTEMPTS && !existing; attempt += 1) {
        // A workflow that is switched off refuses it as a prompt.
        const holder = snapshot.workflow.status === 'inactive' ? undefined : await findHolder(order);
        if (holder && (await steerHolder(order, { holder, snapshot }))) return { steered: { id, task_id: holder.task_id } };
        const started = await startRun({ ...order, on_busy: 'steer' }).catch((error: unknown) => {
          if (error instanceof AppError && error.code === 'workflow_busy') return null;
          throw error;
        });
        if (started) return { started };
      }
      return { started: await startRun({ ...order, on_busy: 'enqueue' }) };
    },

    /** Starts a turn next to the one in progress: a fork of its latest step, which reads the message as well. */
    async forkNextTo({ prompt: message, ...order }: TaskOrder<PromptOrder>): Promise<Accepted> {
      const { attachments, on_busy: _policy, trigger: _trigger, receipt, ...asker } = order;
      const holder = (await store.messages.find(order.task_id)) ? undefined : await findHolder({ ...order, prompt: message });
      if (!holder) return startRun({ ...order, prompt: message, on_busy: 'enqueue' });
      if (attachments && attachments.length > 0) throw unprocessable([{ path: 'attachments', message: NO_FILES }]);
      const source = await store.tasks.find(holder.task_id);
      const from_step = (await store.forks.steps(holder.task_id)).at(-1)?.step;
      if (!source || !from_step) throw conflict(NOT_BEGUN, 'nothing_to_fork');
      const place = { in_thread: true, beside_lane: true } as const;
      return startFork({
        ...{ ...asker, ...place, source, from_step, effects: 'live', message },
        receipt: { when_busy: 'fork', metadata: {}, ...receipt, content: message },
      });
    },
  };
}

const NO_FILES = 'A message with when_busy fork takes no files; send it with enqueue, or without them';
const NOT_BEGUN = 'The turn in progress has not begun its first step, so there is nothing to fork yet; try again in a moment';

function toSteer(order: TaskOrder<PromptOrder>, { task_id, definition }: { task_id: string; definition: Definition }) {
  const { owner, owner_login, workflow_id, prompt, attachments = [], receipt, service_key_id = null } = order;
  return {
    id: order.task_id,
    claim: order.claim,
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

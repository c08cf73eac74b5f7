import type { Definition } from '../domain/definition.ts';
import { type AppError, conflict, foreign, notFound } from '../domain/errors.ts';
import type { EventBus } from '../events/bus.ts';
import type { Store } from '../store/index.ts';
import type { Snapshot } from '../store/pin.ts';
import type { Engine } from './engine.ts';

export interface PromptOrder {
  workflow_id: string;
  owner: string;
  owner_login: string;
  prompt: string;
  reasoning_effort?: string | null | undefined;
  on_busy?: string | undefined;
  trigger: string;
  scheduled_agent_id?: string | null;
  /** The caller's access token; sealed with the task and opened only where a model is called with it. */
  access_token: string | null;
}

export interface Accepted {
  task_id: string;
  workflow_id: string;
  status: 'pending';
  prompt: string;
  created_at: string;
}

export interface Dispatch {
  /** Writes a task of the owner's workflow and starts its run; when the engine cannot be reached, nothing is left behind. */
  prompt(order: PromptOrder): Promise<Accepted>;
  /** Asks a task's run to end; text and usage so far are kept. */
  halt(task_id: string): Promise<void>;
}

interface DispatchOptions {
  store: Pick<Store, 'snapshot' | 'tasks' | 'runs'>;
  engine: Engine;
  bus: Pick<EventBus, 'halt'>;
  definitionOf(snapshot: Snapshot, reasoning_effort?: string | null): Definition;
}

export function createDispatch({ store, engine, bus, definitionOf }: DispatchOptions): Dispatch {
  async function start(order: PromptOrder, definition: Definition, queued: { task_id: string; queued: boolean }): Promise<void> {
    const labels = {
      owner: order.owner_login,
      agent: definition.agent.name,
      workflow: definition.workflow.title ?? order.workflow_id,
      workflow_id: order.workflow_id,
      model: definition.model,
    };
    try {
      await engine.start({ ...queued, max_turns: definition.settings.max_turns }, labels);
    } catch (error) {
      await store.tasks.discard(queued.task_id);
      throw error;
    }
  }

  async function halt(task_id: string): Promise<void> {
    const known = await engine.halt(task_id);
    await bus.halt(task_id);
    if (!known) await store.runs.settle(task_id, { status: 'halted', error: null, error_code: null, events: [] });
  }

  return {
    halt,
    async prompt(order) {
      const snapshot = await store.snapshot(order.workflow_id);
      if (!snapshot) throw notFound('workflow', order.workflow_id);
      if (snapshot.workflow.owner !== order.owner) throw foreign('workflow');
      const on_busy = order.on_busy ?? snapshot.workflow.on_busy;
      const definition = definitionOf(snapshot, order.reasoning_effort);
      const { workflow_id, prompt, owner, owner_login, trigger, scheduled_agent_id = null, access_token } = order;
      const task = {
        workflow_id,
        prompt,
        owner,
        owner_login,
        trigger,
        scheduled_agent_id,
        on_busy,
        definition,
        caller_token: access_token,
      };
      const created = await store.tasks.create(task);
      if (!created) throw refusal(snapshot.workflow.status);
      const { task_id, created_at, holder } = created;
      await start(order, definition, { task_id, queued: holder !== task_id });
      if (on_busy === 'interrupt' && holder !== task_id) await halt(holder);
      return { task_id, workflow_id, status: 'pending', prompt, created_at };
    },
  };
}

function refusal(status: string): AppError {
  if (status === 'inactive')
    return conflict('This workflow is switched off; set its status to active first', 'workflow_inactive');
  return conflict(
    'A run of this workflow is under way and on_busy is reject; wait for it, halt it, or send on_busy: enqueue',
    'workflow_busy',
  );
}

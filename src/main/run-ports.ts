import { contextWindowOf } from '../domain/context-window.ts';
import { eventsOf } from '../domain/events.ts';
import { webhookSender } from '../egress/webhook-sender.ts';
import { deltaPublisher } from '../events/publisher.ts';
import { ModelFailure } from '../runtimes/runtime.ts';
import { type Caller, selectRuntime } from '../runtimes/select.ts';
import type { OpenRun } from '../store/runs.ts';
import { haltRegistry } from '../temporal/activities/attempt.ts';
import type { FirePorts } from '../temporal/activities/fire.ts';
import type { ActivityPorts } from '../temporal/activities/index.ts';
import { reconcile } from '../temporal/reconciler.ts';
import { type ToolPorts, toolsFor } from '../tools/for-agent.ts';
import { type ToolCall, ToolUnreachable } from '../tools/source.ts';
import { reconcileSchedules, reconcileWorkspaces } from './reconcile.ts';
import { contextPorts, knowingPorts } from './run-context.ts';
import { runWorkspaces, type WorkspaceOwner } from './run-workspaces.ts';
import type { Core, Driver } from './wiring.ts';

const now = () => new Date().toISOString();

/** Binds the engine's activities to the store, the runtimes and the tools. `unwatch` ends the watch for halts. */
export async function activityPorts(core: Core, driver: Driver): Promise<{ ports: ActivityPorts; unwatch: () => void }> {
  const { engine, settle } = driver;
  const { store, bus, setting } = core;
  const halts = haltRegistry();
  const unwatch = await bus.onHalt(halts.halt);
  const tools = toolPorts(core);
  const workspaces = runWorkspaces(core);
  const opened = (run: WorkspaceOwner, signal: AbortSignal) =>
    workspaces.open(run, signal).catch((error: Error) => Promise.reject(new ToolUnreachable(error.message)));
  const definition = (hash: string) => store.definitions.get(hash);
  const ports: ActivityPorts = {
    runs: store.runs,
    ledger: store.ledger,
    halts,
    definition,
    now,
    runtimeOf: (run, pinned) =>
      selectRuntime(pinned, callerOf(core, run), { default_runtime: setting.default_runtime, fetch: core.egress.fetch }),
    toolsOf: (pinned, { custom_tools }) => toolsFor(pinned, tools, { custom_tools }),
    publisher: deltaPublisher,
    async perform({ call_id, name, ...call }, args, signal) {
      const pinned = await definition(call.definition_hash);
      const { task_id, workflow_id, owner } = call;
      const { definition_hash } = call;
      const { directory: workspace } = await opened({ task_id, owner, repository: pinned.repository }, signal);
      const run = { task_id, workflow_id, owner, agent_id: pinned.agent.id, definition_hash, workspace };
      const asked: ToolCall = { call_id, name, arguments: args, call_key: `${task_id}:${call_id}`, run };
      return toolsFor(pinned, tools, { custom_tools: pinned.provider !== null }).call(asked, signal);
    },
    ...firePortsOf(core, driver),
    ...contextPorts(core),
    webhooks: store.webhooks,
    sendWebhook: webhookSender({ fetch: core.egress.fetch, secret: setting.webhook_secret }),
    windowOf: ({ model, provider }) =>
      contextWindowOf(model ?? (provider ? null : setting.default_runtime.model), {
        set: provider?.context_window ?? null,
        fallback: setting.config.DEFAULT_CONTEXT_WINDOW,
      }),
    workspaces,
    settle,
    halt: (task_id) => bus.halt(task_id),
    nudge: (task_id, call_id) => engine.decide(task_id, call_id),
    async reconcile() {
      const done = await reconcile({ store, engine, settle, definition, now: () => new Date() });
      await reconcileSchedules(store, driver.schedules);
      await reconcileWorkspaces(store, workspaces);
      return done;
    },
    isModelFailure: (error): error is ModelFailure => error instanceof ModelFailure,
    isUnreachable: (error): error is ToolUnreachable => error instanceof ToolUnreachable,
  };
  return { ports, unwatch };
}

/** How a schedule that is due becomes a task. */
export const firePortsOf = ({ store, identify }: Core, { dispatch, schedules }: Driver): FirePorts => ({
  schedules: store.scheduledAgents,
  tasks: store.tasks,
  dispatch,
  identify,
  forget: (schedule_id) => schedules.remove(schedule_id),
});

/** In whose name a run's models and tools are used. */
function callerOf({ store }: Core, run: OpenRun): Caller {
  return {
    access_token: store.tasks.callerToken(run),
    async openToken(name) {
      const opened = await store.tokens.open({ name, principal: run.owner, purpose: 'model provider', task_id: run.task_id });
      if ('refusal' in opened) throw new Error(opened.refusal);
      return opened.value;
    },
  };
}

function toolPorts(core: Core): ToolPorts {
  const { store, runner } = core;
  return {
    runner,
    ...knowingPorts(core),
    async openToken(name, tool, { owner, task_id }) {
      const opened = await store.tokens.open({ name, principal: owner, purpose: `tool ${tool}`, task_id });
      if ('refusal' in opened) throw new Error(opened.refusal);
      return opened.value;
    },
    async saveTodos({ call_id, run: { task_id, workflow_id } }, todos) {
      const { log } = eventsOf(task_id, now);
      const events = [
        log('progress', `${todos.filter(({ status }) => status === 'done').length} of ${todos.length} done`, { todos }),
      ];
      await store.ledger.setTodos({ task_id, workflow_id, call_id }, { todos, events });
    },
  };
}

import { eventsOf } from '../domain/events.ts';
import { deltaPublisher } from '../events/publisher.ts';
import { ModelFailure } from '../runtimes/runtime.ts';
import { type Caller, selectRuntime } from '../runtimes/select.ts';
import type { OpenRun } from '../store/runs.ts';
import { haltRegistry } from '../temporal/activities/attempt.ts';
import type { ActivityPorts } from '../temporal/activities/index.ts';
import { type ToolPorts, toolsFor } from '../tools/for-agent.ts';
import { type ToolCall, ToolUnreachable } from '../tools/source.ts';
import type { Core } from './wiring.ts';

const now = () => new Date().toISOString();

/** Binds the engine's activities to the store, the runtimes and the tools. `unwatch` ends the watch for halts. */
export async function activityPorts(core: Core): Promise<{ ports: ActivityPorts; unwatch: () => void }> {
  const { store, bus, setting } = core;
  const halts = haltRegistry();
  const unwatch = await bus.onHalt(halts.halt);
  const tools = toolPorts(core);
  const definition = (hash: string) => store.definitions.get(hash);
  const ports: ActivityPorts = {
    runs: store.runs,
    ledger: store.ledger,
    halts,
    definition,
    now,
    runtimeOf: (run, pinned) => selectRuntime(pinned, callerOf(core, run), { default_runtime: setting.default_runtime }),
    toolsOf: (pinned, { custom_tools }) => toolsFor(pinned, tools, { custom_tools }),
    publisher: (run, ready) => deltaPublisher((delta) => publish(core, run, delta), ready),
    async perform({ call_id, name, ...call }, args, signal) {
      const pinned = await definition(call.definition_hash);
      const { task_id, workflow_id, owner } = call;
      const run = { task_id, workflow_id, owner, agent_id: pinned.agent.id };
      const asked: ToolCall = { call_id, name, arguments: args, call_key: `${task_id}:${call_id}`, run };
      return toolsFor(pinned, tools, { custom_tools: pinned.provider !== null }).call(asked, signal);
    },
    halt: (task_id) => bus.halt(task_id),
    isModelFailure: (error): error is ModelFailure => error instanceof ModelFailure,
    isUnreachable: (error): error is ToolUnreachable => error instanceof ToolUnreachable,
  };
  return { ports, unwatch };
}

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

function toolPorts({ store, runner }: Core): ToolPorts {
  return {
    runner,
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

async function publish({ store, bus }: Core, { task_id, workflow_id }: OpenRun, delta: string): Promise<void> {
  const events = [eventsOf(task_id, now).delta(delta)];
  const last = await store.events.appendDeltas(workflow_id, task_id, events);
  bus.announce(workflow_id, { task_id, events, last });
}

import { ApplicationFailure } from '@temporalio/activity';
import type { Definition, ToolSpec } from '../../domain/definition.ts';
import { eventsOf, isTerminal, type RunEvent } from '../../domain/events.ts';
import { instructionsOf } from '../../domain/instructions.ts';
import type { ExchangeOrder, PlannedCall } from '../../domain/run-loop.ts';
import {
  callIdOf,
  DENIAL,
  REMINDER_POSITION,
  reminderOf,
  responseOf,
  storable,
  type TranscriptMessage,
} from '../../domain/transcript.ts';
import { addUsage, costOf } from '../../domain/usage.ts';
import type { DeltaPublisher } from '../../events/publisher.ts';
import type { ModelFailure, Reply } from '../../runtimes/runtime.ts';
import type { SelectedRuntime } from '../../runtimes/select.ts';
import type { OpenRun, RunStore } from '../../store/runs.ts';
import type { Toolbox } from '../../tools/for-agent.ts';
import { attempt, type Halts, isHalt } from './attempt.ts';
import { retryDelay } from './failure.ts';

export interface ExchangePorts {
  runs: RunStore;
  halts: Halts;
  definition(hash: string): Promise<Definition>;
  runtimeOf(run: OpenRun, definition: Definition): Promise<SelectedRuntime>;
  toolsOf(definition: Definition, runtime: SelectedRuntime): Toolbox;
  /** Text of the run, told in batches; nothing before `ready`. */
  publisher(run: OpenRun, ready: Promise<unknown>): DeltaPublisher;
  isModelFailure(error: unknown): error is ModelFailure;
  now(): string;
}

/** What one attempt of a step works with. */
interface Attempt {
  ports: ExchangePorts;
  run: OpenRun;
  definition: Definition;
  order: ExchangeOrder;
}

/** One exchange with the model, recorded once by (task, step): a step that is on record is not paid again. */
export const exchangeActivity =
  (ports: ExchangePorts) =>
  (task_id: string, order: ExchangeOrder): Promise<PlannedCall[]> =>
    attempt(ports.halts, task_id, async (signal) => {
      const run = await ports.runs.open(task_id, order.step);
      if (!run || isTerminal(run.status)) throw ApplicationFailure.nonRetryable(`The task ${task_id} has ended`, 'task_ended');
      if (run.recorded) return run.calls;
      const work: Attempt = { ports, run, definition: await ports.definition(run.definition_hash), order };
      try {
        return await converse(work, signal);
      } catch (error) {
        if (signal.aborted || !ports.isModelFailure(error)) throw error;
        throw await noteFailure(work, error);
      }
    });

async function converse(work: Attempt, signal: AbortSignal): Promise<PlannedCall[]> {
  const { ports, run, definition, order } = work;
  const { messages, events } = opening(work);
  const begun = ports.runs.begin(run, { step: order.step, turns: order.turns, denied: order.denied, messages, events });
  // Awaited before the record is written; until then a failure of the model's must not leave this one unheard.
  begun.catch(() => {});
  const selected = await ports.runtimeOf(run, definition);
  const offered = order.tools_off ? [] : await ports.toolsOf(definition, selected).list(signal);
  const publisher = ports.publisher(run, begun);
  const input = {
    task_id: run.task_id,
    model: definition.model,
    instructions: instructionsOf(definition),
    transcript: [...run.messages, ...messages],
    tools: offered,
    reasoning_effort: definition.settings.reasoning_effort,
    wants_json: definition.settings.output_format === 'json',
    cursor: run.cursor,
  };
  try {
    const { reply, cursor } = await selected.runtime.exchange(input, (delta) => publisher.push(storable(delta)), signal);
    const rest = await publisher.rest();
    return await record(work, { reply: order.tools_off ? { ...reply, calls: [] } : reply, cursor, offered, selected, rest });
  } catch (error) {
    await begun;
    if (isHalt(signal.reason)) await keepPartial(work, publisher);
    throw error;
  }
}

/** What is written before the model is called: messages it is to see, and events that say so. */
function opening({ ports, run, definition, order }: Attempt): { messages: TranscriptMessage[]; events: RunEvent[] } {
  const { log, status, message } = eventsOf(run.task_id, ports.now);
  const messages: TranscriptMessage[] = [];
  const events: RunEvent[] = [];
  const blank = { tool_calls: null, call_id: null, extra: null };
  if (order.step === 1 && run.messages.length === 0) {
    messages.push({ ...blank, step: 0, position: 0, role: 'user', kind: 'prompt', content: run.prompt });
    events.push(status('running', order.turns), log('run_started', `Agent ${definition.agent.name}`));
    events.push(log('context_built', `${definition.skills.length} skills, ${definition.tools.length} tools`));
  }
  const known = new Set(run.messages.map(({ step, position }) => `${step}/${position}`));
  for (const call_id of order.denied) {
    const position = Number(call_id.split('-')[1]);
    if (known.has(`${order.step - 1}/${position}`)) continue;
    messages.push({ ...blank, step: order.step - 1, position, role: 'tool', kind: 'denial', content: DENIAL, call_id });
    events.push(log('tool_denied', 'The turn limit is reached', { call_id }), message('tool', DENIAL, { call_id }));
  }
  if (order.remind && !known.has(`${order.step - 1}/${REMINDER_POSITION}`)) {
    const content = reminderOf(run.prompt);
    messages.push({ ...blank, step: order.step - 1, position: REMINDER_POSITION, role: 'user', kind: 'reminder', content });
    events.push(log('goal_reminder', content));
  }
  if (run.attempts > 0)
    events.push(log('attempt_reset', 'The step is tried again; drop its unfinished text', { step: order.step }));
  events.push(log('model_call', definition.model ?? 'default model', { step: order.step }));
  return { messages, events };
}

interface Answer {
  reply: Reply;
  cursor: unknown;
  offered: ToolSpec[];
  selected: SelectedRuntime;
  /** The end of the text, which was not told yet. */
  rest: string;
}

async function record(work: Attempt, { reply, cursor, offered, selected, rest }: Answer): Promise<PlannedCall[]> {
  const { ports, run, definition, order } = work;
  const { log, message, usage, delta } = eventsOf(run.task_id, ports.now);
  const calls = reply.calls.map((call, index) => ({
    call_id: callIdOf(order.step, index),
    position: index + 1,
    name: storable(call.name),
    arguments: storable(call.arguments),
    effect: offered.find(({ name }) => name === call.name)?.effect ?? ('read' as const),
    approval: definition.approval_tools.includes(call.name),
  }));
  const content = storable(reply.text);
  const asked = calls.map(({ call_id, name, arguments: args }) => ({ call_id, name, arguments: args }));
  const model = reply.model ?? definition.model;
  const spent = { ...reply.usage, cost: costOf(reply.usage, model, selected.prices), premium_requests: 0 };
  const recorded = await ports.runs.record(run, {
    step: order.step,
    model,
    finish: reply.finish,
    usage: spent,
    message: {
      step: order.step,
      position: 0,
      role: 'assistant',
      kind: 'reply',
      content,
      tool_calls: asked,
      call_id: null,
      extra: reply.extra,
    },
    calls,
    cursor,
    response: calls.length === 0 ? responseOf(content, definition.settings.output_format) : undefined,
    events: [
      ...(rest ? [delta(rest)] : []),
      log('model_response', reply.finish, { step: order.step }),
      message('assistant', content, { step: order.step, ...(asked.length > 0 ? { tool_calls: asked } : {}) }),
      usage(addUsage(run, spent)),
    ],
  });
  if (recorded) return calls.map(({ call_id, name }) => ({ call_id, name }));
  return (await ports.runs.open(run.task_id, order.step))?.calls ?? [];
}

async function keepPartial({ ports, run, order }: Attempt, publisher: DeltaPublisher): Promise<void> {
  await publisher.flush();
  const content = publisher.text();
  if (!content) return;
  const { message } = eventsOf(run.task_id, ports.now);
  const blank = { tool_calls: null, call_id: null, extra: null };
  await ports.runs.recordPartial(run, {
    message: { ...blank, step: order.step, position: 0, role: 'assistant', kind: 'partial', content },
    events: [message('assistant', content, { step: order.step, partial: true })],
  });
}

async function noteFailure({ ports, run, order }: Attempt, failure: ModelFailure): Promise<ApplicationFailure> {
  const { message, code, recoverable, retry_after_ms } = failure;
  const { final, delay_ms } = retryDelay({ recoverable, errors: run.errors, retry_after_ms });
  const { log } = eventsOf(run.task_id, ports.now);
  const told = log(code === 'rate_limited' ? 'rate_limited' : 'retry', storable(message), {
    step: order.step,
    error_code: code,
    wait_ms: delay_ms,
  });
  await ports.runs.noteError(run, { step: order.step, error: storable(message), events: final ? [] : [told] });
  return ApplicationFailure.create({ message, type: code, nonRetryable: final, nextRetryDelay: delay_ms });
}

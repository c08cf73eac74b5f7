import { ApplicationFailure } from '@temporalio/activity';
import type { Definition, PinnedRepository, ToolSpec, WorkspaceOwner } from '../../domain/definition.ts';
import { secretRefusal } from '../../domain/errors.ts';
import { eventsOf, type RunEvent } from '../../domain/events.ts';
import { instructionsOf } from '../../domain/instructions.ts';
import type { ExchangeOrder, PlannedCall } from '../../domain/run-loop.ts';
import { isTerminal } from '../../domain/statuses.ts';
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
import type { Verdict } from '../../guardrails/judge.ts';
import type { ModelFailure, Reply } from '../../runtimes/runtime.ts';
import type { SelectedRuntime } from '../../runtimes/select.ts';
import type { OpenRun, RunStore, Record as StepRecord } from '../../store/runs.ts';
import type { Toolbox } from '../../tools/for-agent.ts';
import { type AdmissionPorts, admitted } from './admission.ts';
import { attempt, type Halts, halted, staleAttempt, written } from './attempt.ts';
import { type Context, type ContextPorts, contextOf } from './context.ts';
import { retryDelay } from './failure.ts';
import { type FitPorts, fitted } from './fit.ts';
import { madeThere } from './made-there.ts';
import { offeredEvents } from './offered.ts';
import { reserve } from './reserve.ts';
import type { ToolsAsked } from './tools-asked.ts';

export interface ExchangePorts extends AdmissionPorts, ContextPorts, Omit<FitPorts, 'runs'> {
  runs: Omit<RunStore, 'freezeToolset' | 'note' | 'settle'>;
  halts: Halts;
  definition(hash: string): Promise<Definition>;
  runtimeOf(run: OpenRun, definition: Definition): Promise<SelectedRuntime>;
  /** Tools that have to be asked for are found once a run; nothing is told of them before `ready`. */
  toolsOf(asked: ToolsAsked, signal: AbortSignal): Promise<Toolbox>;
  /** Sends text on in batches; nothing before `ready`. */
  publisher(send: (delta: string) => Promise<unknown>, ready: Promise<unknown>): DeltaPublisher;
  workspaces: { open(run: WorkspaceOwner, signal: AbortSignal): Promise<{ commit: string | null }> };
  isModelFailure(error: unknown): error is ModelFailure;
  /** Judges a text of the model's by the run's output guardrails. */
  judge(definition: Definition, text: string, facts: { final: boolean; owner: string }): Promise<Verdict>;
  /** Whether texts must be judged before any of them is shown. */
  holdsBack(definition: Definition): boolean;
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
  (task_id: string, order: ExchangeOrder): Promise<PlannedCall[] | 'waiting'> =>
    attempt(ports.halts, task_id, (signal) => exchangeStep(ports, [task_id, order], signal));

/** The exchange without what the engine has to do with it. */
export async function exchangeStep(ports: ExchangePorts, [task_id, order]: [string, ExchangeOrder], signal: AbortSignal) {
  const run = await ports.runs.open(task_id, order.step);
  if (!run || isTerminal(run.status)) throw ApplicationFailure.nonRetryable(`The task ${task_id} has ended`, 'task_ended');
  if (run.recorded) return callsOf(run, order.step);
  if (run.halt_requested) throw halted();
  const work: Attempt = { ports, run, definition: await ports.definition(run.definition_hash), order };
  await admitted(ports, run, { provider: work.definition.provider, step: order.step });
  try {
    return await converse(work, signal);
  } catch (error) {
    if (signal.aborted || !ports.isModelFailure(error)) throw error;
    throw await noteFailure(work, error, signal);
  }
}

/** Calls of a recorded reply; a reply that a guardrail withheld ends the run. */
function callsOf({ messages, calls }: Pick<OpenRun, 'messages' | 'calls'>, step: number): PlannedCall[] {
  const withheld = messages.find((message) => message.step === step && message.kind === 'withheld');
  if (withheld) throw ApplicationFailure.nonRetryable(withheld.content, 'guardrail_blocked');
  return calls;
}

async function converse(work: Attempt, outer: AbortSignal): Promise<PlannedCall[] | 'waiting'> {
  const { ports, run, definition, order } = work;
  const begins = order.step === 1 && run.messages.length === 0;
  const context = begins ? await contextOf(ports, run, definition) : { messages: [], events: [] };
  const { messages, events } = opening(work, context);
  const stale = new AbortController();
  const signal = AbortSignal.any([outer, stale.signal]);
  const begun = begin(work, { messages, events }, stale);
  // Awaited before the record is written; until then a failure of the model's must not leave this one unheard.
  begun.catch(() => {});
  if (order.step === 1 && definition.repository) await checkOut(work, definition.repository, { signal, ready: begun });
  const selected = await ports.runtimeOf(run, definition);
  const asked = { run, definition, runtime: selected, ready: begun };
  const offered = order.tools_off ? [] : await (await ports.toolsOf(asked, signal)).list(signal);
  if (begins) await begun.then(() => ports.runs.tellDeltas(run, { step: 1, events: offeredEvents(work, { offered, selected }) }));
  const publisher = ports.publisher((delta) => tell(work, delta, stale), begun);
  const instructions = instructionsOf(definition);
  const about = { ready: begun, ports, run, definition, step: order.step, selected, instructions, tools: offered };
  const fit = await fitted(about, [...run.messages, ...messages], signal);
  work.run = fit.run;
  if ((await reserve({ ...about, ...fit })) === 'waiting') return 'waiting';
  const input = {
    task_id: run.task_id,
    model: definition.model,
    instructions,
    transcript: fit.transcript,
    tools: offered,
    reasoning_effort: definition.settings.reasoning_effort,
    wants_json: definition.settings.output_format === 'json',
    cursor: run.cursor,
  };
  try {
    const held = ports.holdsBack(definition);
    const emit = held ? () => {} : (delta: string) => publisher.push(storable(delta));
    const { reply, cursor } = await selected.runtime.exchange(input, emit, signal);
    await publisher.flush();
    const answer = { reply: order.tools_off ? { ...reply, calls: [] } : reply, cursor, offered, selected };
    return await record(work, { ...answer, told: !held && publisher.complete() }, outer);
  } catch (error) {
    await begun;
    // Text that was told is kept when the run ends here, so all of it is told before anyone learns that the attempt has ended.
    await publisher.flush();
    throw error;
  }
}

/** Fetches the repository that the run works on, before its model is asked anything. */
async function checkOut(
  { ports, run, definition: { workflow }, order: { step } }: Attempt,
  repository: PinnedRepository,
  { signal, ready }: { signal: AbortSignal; ready: Promise<unknown> },
): Promise<void> {
  await ready;
  const { commit } = await ports.workspaces.open({ ...run, repository, workflow }, signal).catch((error: Error) => {
    signal.throwIfAborted();
    throw ApplicationFailure.nonRetryable(error.message, secretRefusal(error) ?? 'repository_failed');
  });
  const { url, branch } = repository;
  const { log } = eventsOf(run.task_id, ports.now);
  if (commit) await ports.runs.tellDeltas(run, { step, events: [log('repo_synced', url, { branch, commit })] });
}

/** Makes this attempt the one that has the step; aborts when another was quicker. */
async function begin({ ports, run, order }: Attempt, told: ReturnType<typeof opening>, stale: AbortController): Promise<void> {
  const { step, turns, denied } = order;
  const begun = await ports.runs.begin(run, { step, turns, denied, ...told }).catch((error) => {
    // Not known to be on record, so nothing may be said: the model is not listened to for nothing.
    stale.abort(error);
    throw error;
  });
  if (!begun) giveWay(stale);
}

async function tell({ ports, run, order: { step } }: Attempt, delta: string, stale: AbortController): Promise<void> {
  const events = [eventsOf(run.task_id, ports.now).delta(delta)];
  if (!(await ports.runs.tellDeltas(run, { step, events }))) giveWay(stale);
}

function giveWay(stale: AbortController): never {
  const reason = staleAttempt();
  stale.abort(reason);
  throw reason;
}

/** What is written before the model is called: messages it is to see, and events that say so. */
function opening({ ports, run, definition, order }: Attempt, context: Context): Context {
  const { log, status, message } = eventsOf(run.task_id, ports.now);
  const messages: TranscriptMessage[] = [...context.messages];
  const events: RunEvent[] = [];
  const blank = { tool_calls: null, call_id: null, extra: null };
  if (order.step === 1 && run.messages.length === 0) {
    messages.push({ ...blank, step: 0, position: 0, role: 'user', kind: 'prompt', content: run.prompt });
    events.push(status('running', order.turns), log('run_started', `Agent ${definition.agent.name}`));
    events.push(...context.events);
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
  if (run.status !== 'running' && run.messages.length > 0) events.push(status('running', order.turns));
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
  /** Whether all of the text has been told; otherwise it is told anew with the reply. */
  told: boolean;
}

async function record(work: Attempt, answer: Answer, signal: AbortSignal): Promise<PlannedCall[]> {
  const { ports, run, order } = work;
  const { entry, planned } = await entryOf(work, answer);
  if (await written(() => ports.runs.record(run, entry), signal))
    return callsOf({ messages: [entry.message], calls: planned }, order.step);
  const now = await written(() => ports.runs.open(run.task_id, order.step), signal);
  if (!now?.recorded) throw staleAttempt();
  return callsOf(now, order.step);
}

/** What is written of a reply, and the calls that are to be made. */
async function entryOf({ ports, run, definition, order }: Attempt, { reply, cursor, offered, selected, told }: Answer) {
  const { log, message, usage, delta } = eventsOf(run.task_id, ports.now);
  const judged = await judgedOf({ ports, run, definition, order }, reply);
  const made = judged.withheld ? [] : reply.calls;
  const calls = made.map((call, index) => ({
    call_id: callIdOf(order.step, index),
    position: index + 1,
    name: storable(call.name),
    arguments: storable(call.arguments),
    effect: offered.find(({ name }) => name === call.name)?.effect ?? ('read' as const),
    approval: definition.approval_tools.includes(call.name),
  }));
  const { content } = judged;
  const asked = calls.map(({ call_id, name, arguments: args }) => ({ call_id, name, arguments: args }));
  const model = reply.model ?? definition.model;
  const spent = { ...reply.usage, cost: costOf(reply.usage, model, selected.prices), premium_requests: 0 };
  const anew = [log('attempt_reset', 'The text is told anew', { step: order.step }), delta(content)];
  const entry: StepRecord = {
    step: order.step,
    model,
    finish: reply.finish,
    usage: spent,
    message: {
      step: order.step,
      position: 0,
      role: 'assistant',
      kind: judged.withheld ? 'withheld' : 'reply',
      content,
      tool_calls: asked,
      call_id: null,
      extra: reply.extra,
    },
    calls,
    cursor,
    response: calls.length === 0 && !judged.withheld ? responseOf(content, definition.settings.output_format) : undefined,
    events: [
      ...(told || content === '' ? [] : anew),
      ...(reply.made_there ?? []).flatMap((call) => madeThere(call, log)),
      log('model_response', reply.finish, { step: order.step }),
      ...judged.events,
      message('assistant', content, { step: order.step, ...(asked.length > 0 ? { tool_calls: asked } : {}) }),
      usage(addUsage(run, spent)),
    ],
  };
  return { entry, planned: calls.map(({ call_id, name }) => ({ call_id, name })) };
}

/** A reply's text as the guardrails let it through, or why it is withheld. */
async function judgedOf({ ports, run, definition }: Attempt, { text, calls }: Reply) {
  const { log } = eventsOf(run.task_id, ports.now);
  const verdict = await ports.judge(definition, storable(text), { final: calls.length === 0, owner: run.owner });
  const events = verdict.findings.map(({ guardrail, action, reasons }) =>
    log('output_guardrail_violation', `${guardrail}: ${reasons.join('; ')}`, { guardrail, action, reasons }),
  );
  if (verdict.text !== null) return { content: storable(verdict.text), withheld: false, events };
  const { guardrail = '', reasons = [] } = verdict.findings.at(-1) ?? {};
  const content = `The guardrail ${guardrail} withheld the model's answer: ${reasons.join('; ')}`;
  return { content, withheld: true, events: [...events, log('guardrail_blocked', content, { guardrail })] };
}

async function noteFailure(
  { ports, run, order }: Attempt,
  failure: ModelFailure,
  signal: AbortSignal,
): Promise<ApplicationFailure> {
  const { message, code, recoverable, retry_after_ms } = failure;
  const { final, delay_ms } = retryDelay({ recoverable, errors: run.errors, retry_after_ms });
  const { log } = eventsOf(run.task_id, ports.now);
  const told = log(code === 'rate_limited' ? 'rate_limited' : 'retry', storable(message), {
    step: order.step,
    error_code: code,
    wait_ms: delay_ms,
  });
  const noted = { step: order.step, error: storable(message), events: final ? [] : [told] };
  await written(() => ports.runs.noteError(run, noted), signal);
  return ApplicationFailure.create({ message, type: code, nonRetryable: final, nextRetryDelay: delay_ms });
}

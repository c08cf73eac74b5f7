import type { CallStatus } from '../domain/effects.ts';
import type { SteerExtra, TranscriptMessage } from '../domain/transcript.ts';
import { addUsage } from '../domain/usage.ts';
import type { Begin, Compaction, OpenRun, StepRecord } from '../store/runs/runs.ts';
import type { CallEnd, OpenCall } from '../store/runs/tool-ledger.ts';
import type { CallToolPorts } from '../temporal/activities/call-tool.ts';
import type { ExchangePorts } from '../temporal/activities/exchange/attempt.ts';
import { comparable, type Differences, nameMessage } from './difference.ts';
import { type BundledMessage, freshCall, freshRun, type Recording, toPlaceKey, toPlainMessage } from './recording.ts';

export type ReplayMemory = ReturnType<typeof replayMemory>;

function toWaiting({ content, extra }: BundledMessage) {
  const { message_id, attachments = null } = extra as SteerExtra;
  return { id: message_id, content, attachments };
}

/** An in-memory database of one run that compares every write with the record. */
export function replayMemory(recording: Recording, { compare, note }: Differences) {
  const { bundle, begun_at } = recording;
  let run = freshRun(bundle);
  const messages = new Map<string, TranscriptMessage>(
    recording.before().map((message) => [toPlaceKey(message), toPlainMessage(message)]),
  );
  const calls = new Map<string, OpenCall>();
  const done = new Set<number>();
  for (const { step, tool_calls } of bundle.steps.filter((one) => one.step < begun_at)) {
    done.add(step);
    for (const call of tool_calls)
      calls.set(call.call_id, { ...freshCall(run, { step, ...call }), status: call.status as CallStatus });
  }

  const inOrder = () => [...messages.values()].sort((a, b) => a.step - b.step || a.position - b.position);
  const listCalls = (step: number) =>
    [...calls.values()].filter((call) => call.step === step).sort((a, b) => a.position - b.position);

  function write(message: TranscriptMessage): void {
    messages.set(toPlaceKey(message), message);
    const recorded_message = recording.message(message);
    const both = {
      recorded: recorded_message ? comparable(toPlainMessage(recorded_message)) : null,
      replayed: comparable(message),
    };
    compare(message.step, nameMessage(message), both);
  }

  /** Notes a difference for each recorded message of the previous round that was not written before the next one begins. */
  function closeRound(step: number): void {
    for (const message of recording.ofStep(step))
      if (!messages.has(toPlaceKey(message)))
        note(step, nameMessage(message), { recorded: comparable(toPlainMessage(message)), replayed: null });
  }

  /** Lists the messages that people sent to the run before the step after this one, and which it has not read. */
  const listSteersAfter = (step: number) =>
    recording.ofStep(step).filter((message) => message.kind === 'steer' && !messages.has(toPlaceKey(message)));

  const runs: ExchangePorts['runs'] = {
    async open(_, step) {
      const planned_calls = listCalls(step).map(({ call_id, name }) => ({ call_id, name }));
      const seconds = run.started_at && (Date.parse(recording.timeAt(step)) - run.started_at.getTime()) / 1000;
      const fallback = recording.fallbackAt(step);
      const read = { messages: inOrder(), waiting_messages: listSteersAfter(step - 1).map(toWaiting), calls: planned_calls };
      return { ...run, seconds, fallback, recorded: done.has(step), ...read };
    },
    async begin(_, { step, turns, messages: new_messages }: Begin) {
      run = { ...run, status: 'running', turns };
      for (const message of new_messages) write(message);
      closeRound(step - 1);
      return 0;
    },
    async record(_, entry: StepRecord) {
      const steers = entry.response === undefined ? [] : listSteersAfter(entry.step);
      recordStep(steers.length > 0 ? { ...entry, response: undefined } : entry);
      for (const steer of steers) write(toPlainMessage(steer));
      return steers.length > 0 ? 'steered' : true;
    },
    async compact(_, { step, message, usage }: Compaction) {
      messages.set(toPlaceKey(message), message);
      // The text of the new one is that of the recorded one.
      const summary = recording.summaryAt(step)!;
      compare(step, 'the summary of older messages', {
        recorded: { up_to_step: summary.step, content: summary.content },
        replayed: { up_to_step: message.step, content: message.content },
      });
      run = { ...run, ...addUsage(run, usage) };
      return true;
    },
    wait: async () => true,
    publish: async () => true,
    publishDeltas: async () => 0,
    publishText: async () => 0,
    noteError: async () => true,
    noteHalted: async () => true,
  };

  function recordStep({ step, messages: new_messages, calls: new_calls, usage, finish, response }: StepRecord): void {
    const recorded_step = recording.step(step);
    for (const message of new_messages) write(message);
    for (const { call_id, name, arguments: args, effect, approval, position } of new_calls) {
      const was = recording.call(call_id);
      const recorded = was && { name: was.name, arguments: was.arguments, effect: was.effect, approval: was.approval };
      compare(step, `the call ${call_id}`, { recorded, replayed: { name, arguments: args, effect, approval } });
      calls.set(call_id, freshCall(run, { call_id, name, arguments: args, effect, approval, position, step }));
    }
    compare(step, 'the reason why the model stopped', { recorded: recorded_step?.finish, replayed: finish });
    compare(step, 'what the step cost', { recorded: recorded_step && (recorded_step.usage.cost ?? 0), replayed: usage.cost });
    if (response !== undefined) compare(step, 'the response', { recorded: bundle.end.response, replayed: response });
    run = { ...run, ...addUsage(run, usage) };
    done.add(step);
  }

  const move = (call: OpenCall, change: Partial<OpenCall>): OpenCall => {
    const next_call = { ...call, ...change };
    calls.set(call.call_id, next_call);
    return next_call;
  };
  function end(call: OpenCall, { content, kind }: Pick<CallEnd, 'content' | 'kind'>): true {
    move(call, { status: kind === 'denial' ? 'denied' : 'done', decision: null });
    const { step, position, call_id } = call;
    // A client sends it with its result, so it is part of what the call returned.
    const extra = recording.message({ step, position })?.extra ?? null;
    write({ step, position, role: 'tool', kind, content, call_id, tool_calls: null, extra });
    return true;
  }
  const ledger: CallToolPorts['ledger'] = {
    open: async (_, call_id) => calls.get(call_id),
    start: async (call) => move(call, { status: 'started', attempts: call.attempts + 1, decision: null }),
    end: async (call, result) => end(call, result),
    answer: async (call, { content }) => end(call, { content, kind: 'result' }),
    async park(call, { status }) {
      move(call, { status });
      return true;
    },
    resume: async () => true,
    release: async () => true,
    decide: async () => false,
  };

  return {
    runs,
    ledger,
    run: (): OpenRun => run,
    closeRound,
    raiseBudget(): void {
      run = { ...run, budget: bundle.task.budget };
    },
    /** Applies a person's decision about a call. */
    decide(call_id: string): void {
      move(calls.get(call_id)!, { decision: recording.decision(call_id) });
    },
    /** Ends a call of a fork that was answered without calling the tool. */
    answer(call_id: string): void {
      end(calls.get(call_id)!, { content: recording.outcome(call_id).content, kind: 'result' });
    },
  };
}

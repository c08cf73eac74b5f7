import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import type { RunBundle } from '../contracts/run-bundles.ts';
import { canonicalJson } from '../domain/canonical-json.ts';
import { SUMMARY_INSTRUCTIONS, summaryMessage } from '../domain/compaction.ts';
import { type LoopOutcome, type RunPorts, runLoop } from '../domain/run-loop.ts';
import { isTerminal } from '../domain/statuses.ts';
import { NO_USAGE } from '../domain/usage.ts';
import type { Verdict } from '../guardrails/judge.ts';
import type { Exchange, ModelReply, ModelRuntime } from '../runtimes/runtime.ts';
import { type CallToolPorts, callStep } from '../temporal/activities/call-tool.ts';
import type { ExchangePorts } from '../temporal/activities/exchange/attempt.ts';
import { exchangeStep } from '../temporal/activities/exchange/index.ts';
import { BUDGET_HALT } from '../temporal/names.ts';
import { type Difference, type Differences, differences } from './difference.ts';
import { type ReplayMemory, replayMemory } from './memory.ts';
import { openRecording, RecordEnds, type Recording, toDefinition } from './recording.ts';

/** The model's input at a step. */
interface StepInput {
  digest: string;
  messages: number;
}

export interface Replayed {
  /** The first difference; null: the run was replayed without one, to its end or to the end of its record. */
  difference: Difference | null;
  /** The number of steps that were replayed. */
  steps: number;
  calls: number;
  /** The model's input by step. */
  inputs: Map<number, StepInput>;
}

export type ReplayPorts = Pick<ExchangePorts, 'judge' | 'listOutputErrors'>;

export interface Replaying extends ReplayPorts {
  recording: Recording;
  memory: ReplayMemory;
  difference_log: Differences;
  inputs: Map<number, StepInput>;
  /** The number of the step in progress. */
  at: number;
}

export const NEVER = new AbortController().signal;

/** Ends the loop at the first difference: nothing after it can be compared. */
class Diverged extends Error {}

/** Runs the loop of a recorded run again, through the same code, with the recorded answers of models and tools. */
export async function replay(bundle: RunBundle, ports: ReplayPorts): Promise<Replayed> {
  const recording = openRecording(bundle);
  const difference_log = differences();
  const memory = replayMemory(recording, difference_log);
  const work: Replaying = { ...ports, recording, memory, difference_log, inputs: new Map(), at: 0 };
  const { prompt } = bundle.task;
  const first = bundle.transcript.find(({ kind, step }) => kind === 'prompt' && step === 0);
  if (first) difference_log.compare(1, 'the prompt', { recorded: prompt, replayed: first.content });
  const counter = { calls: 0 };
  try {
    const outcome = await runLoop(loopPorts(work, counter), bundle.definition.settings);
    compareEnd(work, outcome);
  } catch (error) {
    if (error instanceof RecordEnds) difference_log.compare(work.at, UNENDED, { recorded: isIncomplete(bundle), replayed: true });
    else if (error instanceof ApplicationFailure) compareFailure(work, error);
    else if (!(error instanceof Diverged)) throw error;
  }
  return { difference: difference_log.first(), steps: work.inputs.size, calls: counter.calls, inputs: work.inputs };
}

const FREE = { '*': { input: 0, output: 0 } };

const UNENDED = 'whether the run continues';
const isIncomplete = ({ end }: RunBundle) => end.status !== 'completed';

function loopPorts(work: Replaying, counter: { calls: number }): RunPorts {
  const { recording, memory, difference_log } = work;
  const { id: task_id } = recording.bundle.task;
  const activities = createReplayPorts(work);
  const throwIfDiverged = () => {
    if (difference_log.first()) throw new Diverged();
  };
  return {
    async exchange(order) {
      work.at = order.step;
      // Transcripts may be long, so let other work in the process proceed.
      await setImmediate();
      for (const call_id of order.denied)
        difference_log.compare(order.step - 1, `the status of the call ${call_id}`, {
          recorded: recording.call(call_id)?.status,
          replayed: 'denied',
        });
      throwIfDiverged();
      if (!recording.step(order.step)) throw new RecordEnds(`Step ${order.step} is not on record`);
      const exchange = async () => {
        const end = await exchangeStep(activities, [task_id, order], NEVER);
        // A record that is replayed follows the engine, because there is none.
        return end as Exclude<typeof end, 'behind'>;
      };
      let calls = await exchange();
      if (calls === 'waiting') {
        const recorded = recording.step(order.step)!.budget_exhausted;
        difference_log.compare(order.step, 'whether the budget is used up', { recorded, replayed: true });
        throwIfDiverged();
        memory.raiseBudget();
        calls = await exchange();
        if (calls === 'waiting') throw new RecordEnds('The run waits for its budget');
      }
      throwIfDiverged();
      return calls;
    },
    async act({ call_id }) {
      const call = recording.call(call_id)!;
      counter.calls += 1;
      if (call.answered_by !== null && work.at >= recording.begun_at) memory.answer(call_id);
      while ((await callStep(activities, { task_id, call_id }, NEVER)) === 'waiting') memory.decide(call_id);
      throwIfDiverged();
    },
    renew: () => false,
  };
}

/** A replay spends nothing. */
const NO_CAPS: ExchangePorts['caps'] = {
  hold: async () => ({ reservation: null, answer: null }),
  settled() {},
  release: async () => {},
  wake: async () => {},
};

/** Creates the ports of the activities over a recorded run. */
export function createReplayPorts(work: Replaying, model = createReplayRuntime(work)): ExchangePorts & CallToolPorts {
  const { recording, memory } = work;
  const { bundle } = recording;
  const definition = toDefinition(bundle);
  const { context_window, fallback_windows = [], keeps_context } = bundle.runtime;
  return {
    runs: memory.runs,
    ledger: memory.ledger,
    halts: { watch: () => ({ signal: NEVER, end() {} }) },
    forks: { listRecords: async () => ({ recorded: [], earlier: [] }) },
    definition: async () => definition,
    parkBehind: async () => {},
    openRuntime: async (_, { provider }) => ({
      runtime: model,
      prices: provider?.price_table ?? {},
      custom_tools: true,
      keeps_context: keeps_context && provider?.id === definition.provider?.id,
    }),
    default_model: null,
    // The bundle does not say what was known about prices, and nobody pays.
    findPresentProvider: async () => ({ name: '', prices: FREE }),
    listTools: async () => ({
      list: async () => bundle.tools,
      listRenamed: async () => [],
      call: () => Promise.reject(new RecordEnds('A tool was called outside of a recorded call')),
    }),
    publisher: () => ({ push() {}, async flush() {}, complete: () => true }),
    loadFiles: async () => [],
    loadResultFiles: async () => [],
    file_takers: new Map(),
    workspaces: { open: async () => ({ commit: null }) },
    perform: async ({ call_id }) => recording.outcome(call_id),
    nudge: async () => {},
    admit: async () => 0,
    giveBack: async () => {},
    caps: NO_CAPS,
    reserveForStep: async () => null,
    longest_wait_ms: 0,
    client_wait_ms: 0,
    recall: async () => [],
    lookUp: async () => ({ items: [], warnings: [] }),
    findContextWindow: ({ fallback }) => ({
      tokens: fallback_windows[(fallback?.position ?? 0) - 1] ?? context_window,
      from: 'provider',
    }),
    keepWindow: async () => {},
    findNamedWindow: async () => null,
    countFallback: () => {},
    judge: async (run_definition, text, facts) => findWithheldVerdict(work) ?? work.judge(run_definition, text, facts),
    listOutputErrors: work.listOutputErrors,
    holdsBack: () => true,
    now: () => recording.timeAt(work.at),
    isUnreachable: (_error): _error is never => false,
    keepFiles: async () => ({ kept: [], refused: [] }),
    settleFiles: async () => {},
    isUncertain: (_error): _error is never => false,
  };
}

/** Returns the verdict of a text that a guardrail withheld. The text is not on record, so it cannot be judged again. */
function findWithheldVerdict({ recording, at }: Replaying): Verdict | null {
  if (recording.message({ step: at, position: 0 })?.kind !== 'withheld') return null;
  const findings = recording.step(at)!.guardrails as Verdict['findings'];
  return { text: null, findings };
}

function createReplayRuntime(work: Replaying): ModelRuntime {
  return {
    async exchange(input) {
      if (input.instructions === SUMMARY_INSTRUCTIONS) return { reply: summaryReply(work), cursor: null };
      compareInput(work, input);
      return { reply: work.recording.reply(work.at), cursor: null };
    },
  };
}

function compareInput({ recording, inputs, difference_log, at }: Replaying, input: Exchange): void {
  const now = { digest: digestExchange(input), messages: input.transcript.length };
  inputs.set(at, now);
  const summary = recording.summaryAt(at);
  const summed = input.transcript.some(({ kind, step }) => kind === 'summary' && step === summary?.step);
  if (summary && !summed) difference_log.note(at, 'the summary of older messages', { recorded: summary.content, replayed: null });
  const was = recording.step(at)?.input;
  if (was) difference_log.compare(at, 'what the model is given', { recorded: was, replayed: now });
}

/** Returns the recorded summary, as the model must have written it. Its separate cost is unknown. */
function summaryReply({ recording, difference_log, at }: Replaying): ModelReply {
  const summary = recording.summaryAt(at);
  if (!summary) {
    difference_log.note(at, 'the summary of older messages', { recorded: null, replayed: 'a summary is requested' });
    throw new Diverged();
  }
  const frame = summaryMessage('');
  const text = summary.content.startsWith(frame) ? summary.content.slice(frame.length) : summary.content;
  return { text, calls: [], finish: 'stop', model: null, usage: NO_USAGE, extra: null };
}

function compareEnd({ recording, difference_log, memory, at }: Replaying, { state }: LoopOutcome): void {
  const { end, steps } = recording.bundle;
  memory.closeRound(at);
  const last = steps.at(-1)!.step;
  if (last > at) difference_log.note(at, UNENDED, { recorded: `it continues to step ${last}`, replayed: 'it ends' });
  const limited = state.denied_rounds > 0;
  const status = mayFollowAnswer(end) ? end.status : 'completed';
  difference_log.compare(at, 'how the run ends', {
    recorded: { status: end.status, turns: end.turns, turn_limit_reached: end.turn_limit_reached },
    replayed: { status, turns: state.turns, turn_limit_reached: limited },
  });
}

/**
 * True if the run may have ended after its last answer: in between, a person may halt the run, it may be lost, or the bundle may
 * be made.
 */
const mayFollowAnswer = ({ status, error_code }: RunBundle['end']) =>
  !isTerminal(status) || (status === 'halted' && error_code !== BUDGET_HALT) || error_code === 'run_lost';

function compareFailure({ recording, difference_log, at }: Replaying, failure: ApplicationFailure): void {
  const { status, error, error_code } = recording.bundle.end;
  const replayed = {
    status: failure.type === BUDGET_HALT ? 'halted' : 'failed',
    error: failure.message,
    error_code: failure.type,
  };
  difference_log.compare(at, 'how the run ends', { recorded: { status, error, error_code }, replayed });
}

/** Returns a fingerprint of everything that a model receives in an exchange. */
export function digestExchange({
  model,
  instructions,
  transcript,
  tools,
  reasoning_effort,
  wants_json,
  output_schema,
  call_settings,
  must_call,
  hosted_tools,
}: Exchange): string {
  const messages = transcript.map(({ role, kind, content, tool_calls, call_id, extra }) => {
    return { role, kind, content, tool_calls, call_id, extra: extra ?? null };
  });
  const rules = {
    ...(output_schema ? { output_schema } : {}),
    ...(must_call ? { must_call } : {}),
    ...(hosted_tools ? { hosted_tools } : {}),
  };
  const whole = canonicalJson({ model, instructions, messages, tools, reasoning_effort, wants_json, call_settings, ...rules });
  return createHash('sha256').update(whole).digest('hex');
}

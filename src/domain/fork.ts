import { readArguments } from './arguments.ts';
import { canonicalJson } from './canonical-json.ts';
import type { ToolEffect } from './definition.ts';
import { type LoopState, type PlannedCall, type RunRules, runLoop, START } from './run-loop.ts';

/** What becomes of the tool calls of a fork: answered from the record, never carried out, or carried out as in any run. */
export type ForkEffects = 'recorded' | 'stub' | 'live';

/** Where a forked run began. */
export interface ForkOrigin {
  task_id: string;
  step: number;
  effects: ForkEffects;
}

/** A call with its arguments as the model wrote them. */
export interface AskedCall {
  name: string;
  arguments: string;
}

/** A call that has a result on record. */
export interface RecordedCall extends AskedCall {
  content: string;
  failed: boolean;
}

/** What a call of a fork is answered with instead of being carried out, and why. */
export interface ForkAnswer {
  content: string;
  failed: boolean;
  answered_by: 'recorded' | 'stub' | 'refused';
}

/** Where a message that a fork adds stands among the messages of the step before it: after the reminder. */
export const FORK_PROMPT_POSITION = 150_000;

/** Where the loop of a run stands before one of its steps, by the calls that its earlier steps are known to have made. */
export async function stateBefore(step: number, rules: RunRules, callsOf: (step: number) => PlannedCall[]): Promise<LoopState> {
  if (step <= START.step) return START;
  let at = 0;
  const { state } = await runLoop(
    {
      async exchange(order) {
        at = order.step;
        return callsOf(at);
      },
      act: async () => {},
      renew: () => at === step - 1,
    },
    rules,
  );
  return state;
}

interface ForkedCall extends AskedCall {
  effect: ToolEffect;
}

interface Records {
  effects: ForkEffects;
  /** Calls of the source at or after the step, with their results, oldest first. */
  recorded: readonly RecordedCall[];
  /** Calls that the fork made before this one. */
  earlier: readonly AskedCall[];
}

/**
 * The rule of a fork's tool calls. Equal calls are answered in the order of the record, and with its last result when they go on
 * beyond it. Null: the call is to be carried out.
 */
export function forkAnswer(call: ForkedCall, { effects, recorded, earlier }: Records): ForkAnswer | null {
  if (effects === 'live') return null;
  const equal = recorded.filter((other) => isSameCall(other, call));
  const found = equal[earlier.filter((other) => isSameCall(other, call)).length] ?? equal.at(-1);
  if (found) return { content: found.content, failed: found.failed, answered_by: 'recorded' };
  if (effects === 'stub') return { content: stubOf(call.name), failed: false, answered_by: 'stub' };
  return call.effect === 'write' ? { content: unknownEffect(call.name), failed: true, answered_by: 'refused' } : null;
}

const stubOf = (name: string) =>
  `Stub: ${name} was not called. No tool is called in this fork, and its source has no result on record for these arguments.`;
const unknownEffect = (name: string) =>
  `Not called: ${name} changes things outside, and the run that this one was forked from has no result on record for these arguments.`;

/** The same tool with the same arguments, however they are spelled. */
function isSameCall(a: AskedCall, b: AskedCall): boolean {
  return a.name === b.name && (a.arguments === b.arguments || canonicalJsonText(a.arguments) === canonicalJsonText(b.arguments));
}

function canonicalJsonText(text: string): string {
  const read = readArguments(text);
  return 'refusal' in read ? text : canonicalJson(read.arguments);
}

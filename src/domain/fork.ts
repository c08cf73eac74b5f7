import { parseArguments } from './arguments.ts';
import type { AttachedFile } from './attachments.ts';
import { canonicalJson } from './canonical-json.ts';
import type { ToolEffect } from './effects.ts';
import { type LoopState, type PlannedCall, type RunRules, runLoop, START } from './run-loop.ts';

/** The handling of a fork's tool calls: answered from the record, never executed, or executed as in any run. */
export type ForkEffects = 'recorded' | 'stub' | 'live';

/** The origin of a forked run. Without a source, it is a run of an evaluation: its item has the record. */
export interface ForkOrigin {
  task_id: string | null;
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
  /** The files that the tool returned; null or absent: none. */
  files?: AttachedFile[] | null;
}

/** The answer to a call of a fork that is not executed, and the reason. */
export interface ForkAnswer {
  content: string;
  failed: boolean;
  answered_by: 'recorded' | 'stub' | 'refused';
  /** The files of the recorded result; absent: none. */
  files?: AttachedFile[];
}

/** The position of a message that a fork adds, among the messages of the previous step: after the reminder. */
export const FORK_PROMPT_POSITION = 150_000;

/** Rebuilds the state of a run's loop before one of its steps from the recorded calls of earlier steps. */
export async function rebuildLoopState(
  step: number,
  rules: RunRules,
  readStep: (step: number) => { calls: PlannedCall[]; rejected: boolean },
): Promise<LoopState> {
  if (step <= START.step) return START;
  let at = 0;
  const { state } = await runLoop(
    {
      async exchange(order) {
        at = order.step;
        const { calls, rejected } = readStep(at);
        if (calls.length > 0) return calls;
        // A step without calls that is followed by another one was an answer that was rejected, or after which a message waited.
        return rejected ? 'repair' : 'steered';
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
  /** The calls of the source at or after the step, with their results, oldest first. */
  recorded: readonly RecordedCall[];
  /** The calls that the fork made before this one. */
  earlier: readonly AskedCall[];
  /** True if the record is that of a dataset's item. */
  evaluated?: boolean;
}

/**
 * Decides how a fork's tool call is answered; null if the call has to be executed. Equal calls are answered in the order of the
 * record. Once the record is used up, they get its last result.
 */
export function forkAnswer(call: ForkedCall, { effects, recorded, earlier, evaluated = false }: Records): ForkAnswer | null {
  if (effects === 'live') return null;
  const equal = recorded.filter((other) => isSameCall(other, call));
  const record = equal[earlier.filter((other) => isSameCall(other, call)).length] ?? equal.at(-1);
  if (record) {
    const { content, failed, files } = record;
    return { content, failed, answered_by: 'recorded', ...(files && { files }) };
  }
  if (effects === 'stub') return { content: formatStub(call.name, evaluated), failed: false, answered_by: 'stub' };
  return call.effect === 'write' ? { content: unknownEffect(call.name, evaluated), failed: true, answered_by: 'refused' } : null;
}

const NOTHING_ON_RECORD = 'no result on record for these arguments';
const formatStub = (name: string, evaluated: boolean) =>
  `Stub: ${name} was not called. ${evaluated ? 'No tool is called in this evaluation, and its item' : 'No tool is called in this fork, and its source'} has ${NOTHING_ON_RECORD}.`;
const unknownEffect = (name: string, evaluated: boolean) =>
  `Not called: ${name} changes things outside, and the ${evaluated ? 'item that this run evaluates' : 'run that this one was forked from'} has ${NOTHING_ON_RECORD}.`;

/** True if both calls use the same tool with equal arguments, in any spelling. */
function isSameCall(a: AskedCall, b: AskedCall): boolean {
  return a.name === b.name && (a.arguments === b.arguments || canonicalJsonText(a.arguments) === canonicalJsonText(b.arguments));
}

function canonicalJsonText(text: string): string {
  const read = parseArguments(text);
  return 'refusal' in read ? text : canonicalJson(read.arguments);
}

import type { RunEvent } from '../../contracts/events.ts';

/** Something that the run is doing. */
export interface RunActivity {
  /** The id of the call, or `step` for what the step does besides its calls. */
  key: string;
  kind: 'model' | 'tool' | 'retry' | 'wait';
  step: number;
  /** The model, the tool, the reason of a retry, or what is waited for. */
  name: string;
  since: string;
}

type Log = Extract<RunEvent, { type: 'log' }>;

const WAITS: Record<string, string> = {
  approval_requested: 'approval of',
  reconciliation_requested: 'reconciliation of',
  question_asked: 'an answer to',
  record_behind: 'a decision after the restore',
  budget_exhausted: 'a higher budget',
};

const STARTS: Record<string, RunActivity['kind']> = {
  model_call: 'model',
  tool_call: 'tool',
  retry: 'retry',
  rate_limited: 'retry',
  ...Object.fromEntries(Object.keys(WAITS).map((event) => [event, 'wait' as const])),
};

const ENDS = [
  'model_response',
  'tool_result',
  'tool_denied',
  'approval_decided',
  'reconciliation_decided',
  'question_answered',
  'continuity_decided',
];

/** What the run does after a log entry, oldest first. */
export function doingAfter(doing: readonly RunActivity[], { data, timestamp: since }: Log): RunActivity[] {
  // Such a call runs at the provider, while the model answers.
  if (data.ran_at === 'provider') return [...doing];
  const key = (data.call_id as string | undefined) ?? 'step';
  const others = doing.filter((other) => other.key !== key);
  const kind = STARTS[data.event];
  if (kind) return [...others, { key, kind, step: findStep(data, doing), name: formatName(data), since }];
  return ENDS.includes(data.event) ? others : [...doing];
}

/** A call's id begins with the number of its step. */
function findStep({ call_id, step }: Log['data'], doing: readonly RunActivity[]): number {
  if (typeof call_id === 'string') return Number.parseInt(call_id, 10);
  return typeof step === 'number' ? step : (doing.at(-1)?.step ?? 0);
}

function formatName({ event, detail, name }: Log['data']): string {
  const waits = WAITS[event];
  return waits === undefined ? detail : `${waits} ${(name as string | undefined) ?? ''}`.trim();
}

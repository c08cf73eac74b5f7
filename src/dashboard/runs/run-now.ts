import type { AnyLogFields, LogData, RunEvent } from '../../contracts/events.ts';
import type { LogName } from '../../contracts/log-events.ts';

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

const WAITS: { [N in LogName]?: string } = {
  approval_requested: 'approval of',
  reconciliation_requested: 'reconciliation of',
  question_asked: 'an answer to',
  record_behind: 'a decision after the restore',
  budget_exhausted: 'a higher budget',
  unpriced_model: 'a price or a token budget',
};

const STARTS: { [N in LogName]?: RunActivity['kind'] } = {
  model_call: 'model',
  tool_call: 'tool',
  retry: 'retry',
  rate_limited: 'retry',
};

const ENDS: LogName[] = [
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
  const { ran_at, call_id: key = 'step' }: AnyLogFields = data;
  if (ran_at === 'provider') return [...doing];
  const others = doing.filter((other) => other.key !== key);
  const kind = WAITS[data.event] === undefined ? STARTS[data.event] : 'wait';
  if (kind) return [...others, { key, kind, step: findStep(data, doing), name: formatName(data), since }];
  return ENDS.includes(data.event) ? others : [...doing];
}

/** A call's id begins with the number of its step. */
function findStep({ call_id, step }: AnyLogFields, doing: readonly RunActivity[]): number {
  return call_id === undefined ? (step ?? doing.at(-1)?.step ?? 0) : Number.parseInt(call_id, 10);
}

function formatName(data: LogData): string {
  const waits = WAITS[data.event];
  const { name = '', budget_id }: AnyLogFields = data;
  if (data.event === 'budget_exhausted' && budget_id) return 'room in a budget';
  return waits === undefined ? data.detail : `${waits} ${name}`.trim();
}

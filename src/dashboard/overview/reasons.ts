import type { Task, ToolCallRecord } from '../../contracts/tasks.ts';
import { formatCount } from '../ui/figures.ts';

type Call = Pick<ToolCallRecord, 'name' | 'status' | 'question'>;

/**
 * Lists what a waiting run waits for, one sentence each. Several calls of a tool that wait for the same decision share a
 * sentence.
 */
export function listReasons({ record_behind }: Pick<Task, 'record_behind'>, calls: readonly Call[]): string[] {
  const waiting = Map.groupBy(
    calls.filter(({ status }) => status.startsWith('waiting')),
    ({ status, name, question }) => JSON.stringify([status, name, question?.message]),
  );
  const questions = [...waiting.values()].map((alike) => toReason(alike[0]!, alike.length));
  const reasons = record_behind ? ['The installation was restored. Resume the run from its record?', ...questions] : questions;
  return reasons.length > 0 ? reasons : ['A budget is used up, or a model has no price. Open the run to see what to do.'];
}

function toReason({ status, name, question }: Call, times: number): string {
  const calls = times === 1 ? 'the call' : formatCount(times, 'call');
  if (status === 'waiting_approval') return `Approve ${calls} to ${name}?`;
  if (status === 'waiting_client') return `The program that sent the prompt has to send the result of ${calls} to ${name}.`;
  return question ? `${name} asks: ${question.message}` : `Did ${calls} to ${name} take effect?`;
}

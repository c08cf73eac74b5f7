import { storable } from '../../domain/transcript.ts';
import type { createTaskEvents, NewEvent } from '../../events/task-events.ts';
import type { CallMadeThere } from '../../runtimes/runtime.ts';

/** The number of published characters of arguments and results; the provider has the whole text. */
const EXCERPT_CHARACTERS = 4_000;
const excerpt = (text: string) => storable(text.slice(0, EXCERPT_CHARACTERS));

/**
 * Returns the events of a call that ran at the model's provider: it is published, but is neither a turn of the run nor in its
 * ledger.
 */
export function toProviderCallEvents(
  { id, name, arguments: args, result }: CallMadeThere,
  log: ReturnType<typeof createTaskEvents>['log'],
): NewEvent[] {
  const facts = { call_id: id, name, ran_at: 'provider' as const };
  const call_event = log('tool_call', name, { ...facts, arguments: excerpt(args) });
  if (!result) return [call_event];
  return [call_event, log('tool_result', name, { ...facts, failed: result.failed, result: excerpt(result.content) })];
}

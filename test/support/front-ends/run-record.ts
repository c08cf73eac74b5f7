import { CAUGHT_UP, type RunRecord } from '../../../src/api/compat/projection/read-record.ts';
import { createTaskEvents, type NewEvent, type StoredEvent } from '../../../src/events/task-events.ts';

export const TASK_ID = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
export const OTHER_TASK_ID = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be002';
export const MESSAGE_ID = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be017';
const AT = '2026-01-31T12:00:00.000Z';

/** The functions that make the events of the run `TASK_ID`. */
export const { log, message, delta, usage, status } = createTaskEvents(TASK_ID, () => AT);

export const modelCall = (step: number) => log('model_call', 'my-model', { step });
export const call = (call_id: string, name: string, args = '{}') => ({ call_id, name, arguments: args });
export const callStarts = (call_id: string, name: string, args = '{}') => log('tool_call', name, call(call_id, name, args));
export const callEnds = (call_id: string, name: string, content: string, more: { failed?: boolean; files?: any[] } = {}) => [
  log('tool_result', name, { call_id, name, failed: false, duration_ms: 31, ...more }),
  message('tool', content, { call_id, name }),
];
export const asksApproval = (call_id: string, name: string, args = '{}') => [
  log('approval_requested', `May the tool ${name} be called?`, call(call_id, name, args)),
  status('waiting', 0),
];
export const asksClient = (call_id: string, name: string, args = '{}') => [
  log('client_call_requested', `The client executes ${name}`, call(call_id, name, args)),
  status('waiting', 0),
];
export const approved = (call_id: string) =>
  log('approval_decided', 'ann decided: approve', { call_id, decision: 'approve', by: 'ann' });
export const denied = (call_id: string, why: string) =>
  log('approval_decided', 'ann decided: deny', { call_id, decision: 'deny', by: 'ann', message: why });
/** The message `MESSAGE_ID` that a person sends to the run while it works, and the step that reads it. */
export const awaits = (text: string) => log('message_waiting', text, { message_id: MESSAGE_ID });
export const steers = (text: string, step: number) => message('user', text, { step, kind: 'steer', message_id: MESSAGE_ID });
export const completes = () => [log('completed', 'The run is complete'), status('completed', 1)];

/** The number of the first event: other runs of the workflow have those before. */
export const FIRST = 11;

/** Numbers events. */
export const numbered = (events: readonly NewEvent[]): StoredEvent[] =>
  events.map((event, index) => ({ ...event, seq: FIRST + index, task_id: TASK_ID }));

/**
 * The record of a run with these events, of which the last `live` happen after the reader has come. It does not end: a reader that
 * waits for more than these events waits forever, so it fails.
 */
export async function* recordOf(events: readonly StoredEvent[], live = 0): RunRecord {
  yield* events.slice(0, events.length - live);
  yield CAUGHT_UP;
  yield* events.slice(events.length - live);
}

import { expect, it } from 'vitest';
import { streamResponseEvents } from '../../src/api/compat/openai/replies.ts';
import type { CompatTask } from '../../src/api/compat/runs.ts';
import { TERMINAL_STATUSES } from '../../src/domain/statuses.ts';

const taskOf = (status: CompatTask['status']) =>
  ({
    ...{
      id: 't',
      status,
      created_at: '2026-01-31T12:00:00.000Z',
      response: 'Yes.',
      error: 'no',
      error_code: 'x',
      conversation_id: null,
    },
    usage: { total_in: 7, total_out: 5, cache_read: 3 },
  }) as CompatTask;

const lastOf = async (status: CompatTask['status'], calls: { call_id: string; name: string; arguments: string }[] = []) => {
  const finish = async () => ({ task: taskOf(status), text: 'Yes.', calls: calls as never });
  const events = streamResponseEvents((async function* () {})(), { started: taskOf('running'), model: 'm', after: -1, finish });
  let last: unknown;
  for await (const event of events) last = event;
  const { type, response } = last as { type: string; response?: { status: string; error: object | null } };
  return { type, status: response?.status, failed: response?.error !== null };
};

/** The last event of a stream, and the status of its response, for each way in which a run ends. */
const ENDS: Record<(typeof TERMINAL_STATUSES)[number], object> = {
  completed: { type: 'response.completed', status: 'completed', failed: false },
  failed: { type: 'response.failed', status: 'failed', failed: true },
  halted: { type: 'response.incomplete', status: 'cancelled', failed: false },
};

it.each(TERMINAL_STATUSES)('the stream of a response whose run is %s ends with its own event', async (status) => {
  expect(await lastOf(status)).toEqual(ENDS[status]);
});

it('is complete with calls for its client, although the run is not', async () => {
  const last = await lastOf('waiting', [{ call_id: '1-1', name: 'look', arguments: '{}' }]);
  expect(last).toEqual({ type: 'response.completed', status: 'completed', failed: false });
});

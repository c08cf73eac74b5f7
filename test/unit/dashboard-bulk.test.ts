import { describe, expect, it } from 'vitest';
import type { Task } from '../../src/contracts/tasks.ts';
import type { Client } from '../../src/dashboard/api/call.ts';
import { BULK_ACTIONS, forEachConcurrent } from '../../src/dashboard/runs/bulk-work.ts';
import { TASK_STATUSES } from '../../src/domain/statuses.ts';

const action = (name: string) => BULK_ACTIONS.find(({ label }) => label === name)!;
const TASK = { id: 't', workflow_id: 'w', prompt: 'Is it right?', attachments: [{ id: 'f', name: 'bill.pdf' }] } as Task;

/** A client that has these steps to read, and what it is asked to do. */
function clientOf(steps: object[] = []) {
  const sent: [operation: string, input: object][] = [];
  const call = async ({ operation }: { operation: string }, input: object) => {
    sent.push([operation, input]);
    return operation === 'get_task_steps' ? steps : undefined;
  };
  return { client: { call } as unknown as Client, sent };
}

it.each([
  ['Halt', ['pending', 'running', 'waiting']],
  ['Retry', ['completed', 'failed', 'halted']],
  ['Approve', ['waiting']],
])('%s is for runs that are %j', (name, statuses) => {
  expect(TASK_STATUSES.filter((status) => action(name).takes({ status })).sort()).toEqual(statuses.sort());
});

it('retries a run with the files of its prompt', async () => {
  const { client, sent } = clientOf();
  await action('Retry').act(client, TASK, 'key');
  const body = { prompt: 'Is it right?', attachments: [{ id: 'f' }], on_busy: 'enqueue' };
  expect(sent).toEqual([['prompt_workflow', { params: { id: 'w' }, body, idempotency_key: 'key' }]]);
});

it('halts the run itself', async () => {
  const { client, sent } = clientOf();
  await action('Halt').act(client, TASK, 'key');
  expect(sent).toEqual([['stop_task', { params: { id: 't' } }]]);
});

describe('approving a run', () => {
  const step = (...calls: [call_id: string, status: string][]) => ({
    tool_calls: calls.map(([call_id, status]) => ({ call_id, status })),
  });

  it('approves each of its calls that wait for an approval, and no other', async () => {
    const { client, sent } = clientOf([
      step(['1-1', 'done'], ['1-2', 'waiting_approval']),
      step(['2-1', 'waiting_reconciliation'], ['2-2', 'waiting_approval'], ['2-3', 'waiting_client'], ['2-4', 'planned']),
    ]);
    await action('Approve').act(client, TASK, 'key');
    expect(sent.slice(1)).toEqual(
      ['1-2', '2-2'].map((call_id) => ['decide_approval', { params: { id: 't', call_id }, body: { decision: 'approve' } }]),
    );
  });

  it('fails if the run waits for something else', async () => {
    const { client, sent } = clientOf([step(['1-1', 'waiting_reconciliation'])]);
    await expect(action('Approve').act(client, TASK, 'key')).rejects.toThrow('It waits for something other than an approval');
    expect(sent).toHaveLength(1);
  });
});

describe('work on many runs', () => {
  it('is done on some at a time, and each has its own result', async () => {
    const settled: [number, string | null][] = [];
    let [open, most] = [0, 0];
    const work = async (item: number) => {
      most = Math.max(most, ++open);
      await new Promise(setImmediate);
      open -= 1;
      if (item % 3 === 0) throw new Error(`no ${item}`);
    };
    const onSettled = (item: number, error: Error | null) => void settled.push([item, error?.message ?? null]);
    await forEachConcurrent([1, 2, 3, 4, 5, 6, 7], { at_a_time: 3, work, onSettled });
    expect(most).toBe(3);
    expect(settled.sort()).toEqual([1, 2, 3, 4, 5, 6, 7].map((item) => [item, item % 3 === 0 ? `no ${item}` : null]));
  });
});

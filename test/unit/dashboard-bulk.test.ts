import { expect, it } from 'vitest';
import type { Task } from '../../src/contracts/tasks.ts';
import type { Client } from '../../src/dashboard/api/call.ts';
import { BULK_ACTIONS } from '../../src/dashboard/runs/bulk-work.ts';
import { TASK_STATUSES } from '../../src/domain/statuses.ts';

it('retries a run with the files of its prompt', async () => {
  const sent: unknown[] = [];
  const client = { call: async (_endpoint: unknown, input: unknown) => void sent.push(input) } as unknown as Client;
  const task = { id: 't', workflow_id: 'w', prompt: 'Is it right?', attachments: [{ id: 'f', name: 'bill.pdf' }] } as Task;
  await BULK_ACTIONS.find(({ label }) => label === 'Retry')!.act(client, task, 'key');
  expect(sent).toEqual([
    {
      params: { id: 'w' },
      body: { prompt: 'Is it right?', attachments: [{ id: 'f' }], on_busy: 'enqueue' },
      idempotency_key: 'key',
    },
  ]);
});

const callsOf = (...calls: [call_id: string, status: string][]) => ({
  tool_calls: calls.map(([call_id, status]) => ({ call_id, status })),
});

it('approves every call of a run that waits for an approval, and no other', async () => {
  const steps = [
    callsOf(['1-1', 'done'], ['1-2', 'waiting_approval']),
    callsOf(['2-1', 'waiting_approval'], ['2-2', 'waiting_client'], ['2-3', 'waiting_approval']),
  ];
  const approved: unknown[] = [];
  const approve = (of: object[]) => {
    const call = async (_endpoint: unknown, input: { body?: unknown }) => {
      if (!input.body) return of;
      approved.push(input);
    };
    return BULK_ACTIONS.find(({ label }) => label === 'Approve')!.act({ call } as unknown as Client, { id: 't' } as Task, 'key');
  };
  await approve(steps);
  expect(approved).toEqual(
    ['1-2', '2-1', '2-3'].map((call_id) => ({ params: { id: 't', call_id }, body: { decision: 'approve' } })),
  );
  await expect(approve([callsOf(['1-1', 'waiting_client'])])).rejects.toThrow('waits for something other than an approval');
  expect(approved).toHaveLength(3);
});

it.each([
  ['Halt', ['pending', 'running', 'waiting']],
  ['Retry', ['completed', 'failed', 'halted']],
  ['Approve', ['waiting']],
])('%s takes runs that are %j', (label, statuses) => {
  const { takes } = BULK_ACTIONS.find((action) => action.label === label)!;
  expect(TASK_STATUSES.filter((status) => takes({ status }))).toEqual(statuses);
});

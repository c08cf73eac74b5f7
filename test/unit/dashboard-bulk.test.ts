import { expect, it } from 'vitest';
import type { Task } from '../../src/contracts/tasks.ts';
import type { Client } from '../../src/dashboard/api/call.ts';
import { BULK_ACTIONS } from '../../src/dashboard/runs/bulk-work.ts';

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

import { describe, expect, it } from 'vitest';
import type { Task } from '../../src/contracts/tasks.ts';
import type { Client } from '../../src/dashboard/api/call.ts';
import { BULK_ACTIONS, forEachConcurrent } from '../../src/dashboard/runs/bulk-work.ts';
import { TASK_STATUSES } from '../../src/domain/statuses.ts';

const action = (name: string) => BULK_ACTIONS.find(({ label }) => label === name)!;
const TASK = {
  ...{ id: 't', workflow_id: 'w', workflow_title: 'Office', agent_name: 'Clerk', created_at: '2026-11-03T05:07:11.000Z' },
  ...{ prompt: 'Is it right?', attachments: [{ id: 'f', name: 'bill.pdf' }] },
} as Task;

/** A client that has these decisions in the inbox, and what it is asked to do. */
function clientOf(items: Record<string, object[]> = {}) {
  const sent: [operation: string, input: object][] = [];
  const call = async ({ operation }: { operation: string }, input: { query?: { task_id: string } }) => {
    sent.push([operation, input]);
    return operation === 'list_inbox' ? { items: items[input.query!.task_id] ?? [] } : undefined;
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

it('shows the run before it retries it with the files of its prompt', async () => {
  const { client, sent } = clientOf();
  const [line] = await action('Retry').listLines(client, [TASK]);
  expect(sent).toEqual([]);
  const { prompt, created_at: since } = TASK;
  expect(line).toMatchObject({ id: 't', task_id: 't', title: 'Office', prompt, since, call: null });
  await line!.act('key');
  const body = { prompt: 'Is it right?', attachments: [{ id: 'f' }], on_busy: 'enqueue' };
  expect(sent).toEqual([['prompt_workflow', { params: { id: 'w' }, body, idempotency_key: 'key' }]]);
});

it('halts the run itself, which is called by its agent if its workflow has no title', async () => {
  const { client, sent } = clientOf();
  const [line] = await action('Halt').listLines(client, [{ ...TASK, workflow_title: null }]);
  expect(line).toMatchObject({ title: 'Clerk' });
  await line!.act('key');
  expect(sent).toEqual([['stop_task', { params: { id: 't' } }]]);
});

describe('approving runs', () => {
  const item = (task_id: string, call_id: string) => ({
    ...{ id: `${task_id}/${call_id}`, task_id, call_id, tool: 'pay', arguments: `{"to":"${call_id}"}`, arguments_cut: false },
    ...{ workflow_title: null, agent_name: 'Clerk', prompt: 'Pay', waiting_since: '2026-11-03T05:13:17.000Z' },
  });

  it('shows each of their calls that wait for an approval, and approves exactly those', async () => {
    const { client, sent } = clientOf({ t: [item('t', '1-2'), item('t', '2-2')], u: [item('u', '3-1')] });
    const lines = await action('Approve').listLines(client, [TASK, { ...TASK, id: 'u' }]);
    expect(sent.map(([, input]) => input)).toEqual(['t', 'u'].map((task_id) => ({ query: { kind: 'approval', task_id } })));
    expect(lines.map(({ id, since, call }) => [id, since, call!.tool, call!.arguments])).toEqual(
      ['t/1-2', 't/2-2', 'u/3-1'].map((id) => [id, '2026-11-03T05:13:17.000Z', 'pay', `{"to":"${id.slice(2)}"}`]),
    );
    sent.length = 0;
    await lines[2]!.act('key');
    expect(sent).toEqual([['decide_approval', { params: { id: 'u', call_id: '3-1' }, body: { decision: 'approve' } }]]);
  });

  it('shows nothing of a run that waits for something else', async () => {
    expect(await action('Approve').listLines(clientOf().client, [TASK])).toEqual([]);
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

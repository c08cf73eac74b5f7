import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { describeUnserved, queueBacklogs, queueStates } from '../../src/temporal/client/queues.ts';
import { msToTs } from '../../src/vendor/temporal-internals.ts';

const NOW_MS = 1_700_000_000_000;

/** An engine whose workers last asked for work so many seconds ago, by queue. */
function engine(asked: Record<string, number[]>): Client {
  const describeTaskQueue = async ({ taskQueue: { name } }: { taskQueue: { name: string } }) => ({
    pollers: (asked[name] ?? []).map((seconds, index) => ({
      identity: `worker ${index}`,
      lastAccessTime: msToTs(NOW_MS - seconds * 1_000),
    })),
    stats: {},
  });
  return { workflowService: { describeTaskQueue }, options: { namespace: 'n' } } as unknown as Client;
}

const workersOf = async (asked: Record<string, number[]>) =>
  Object.fromEntries(
    (await queueStates(engine(asked), { task_queue: 'q', role_queues: true })).map(({ name, workers }) => [name, workers]),
  );

/** A worker without work asks once a minute; the engine lists it for five minutes after it has asked last. */
it.each([
  ['that asked at the same moment', [0, 0], 2],
  ['of which one asked a while ago', [0, 30], 2],
  ['of which one is about to ask again', [0, 60], 2],
  ['of which one has missed its turn', [0, 66], 1],
  ['of which one is only listed still', [0, 300], 1],
])('two workers %s', async (_, seconds, workers) => {
  expect(await workersOf({ q: seconds })).toMatchObject({ q: workers });
});

it('a worker of one queue is compared with the workers of the others, by the clock of the engine', async () => {
  const asked = { q: [3], 'q-models': [62, 200], 'q-tools': [70] };
  expect(await workersOf(asked)).toEqual({ q: 1, 'q-models': 1, 'q-tools': 0 });
  const states = await queueStates(engine(asked), { task_queue: 'q', role_queues: true });
  expect(describeUnserved(states)).toBe(
    'None takes work from q-tools: runs wait until one is started (perdura worker --role tools)',
  );
  const backlogs = await queueBacklogs(engine(asked), { task_queue: 'q', role_queues: true });
  expect(backlogs.map(({ queue, kind, workers }) => [queue, kind, workers])).toEqual([
    ['q', 'workflow', 1],
    ['q', 'activity', 1],
    ['q-models', 'activity', 1],
    ['q-tools', 'activity', 0],
  ]);
});

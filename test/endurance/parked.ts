import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { asks, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';
import { onScene, type Scene } from './scene.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    batches: { type: 'string', default: '4' },
    decide: { type: 'string', default: '100' },
    cached: { type: 'string', default: '100' },
  },
});
const runs = Number(values.runs);
const batches = Number(values.batches);
const decide = Number(values.decide);
const AT_A_TIME = 8;
const TODO = { name: 'manage_todo_list', args: { todoList: [] } };

/** Many runs that wait for a person: measures their cost to a worker, and checks that they survive it and resume once decided. */
await onScene({ workers: 1, env: { WORKER_CACHED_RUNS: values.cached } }, async (scene) => {
  const { model, made, provider_id, fleet, say } = scene;
  model.always((response, request) => {
    const answered = request.messages.some(({ role }) => role === 'tool');
    return (answered ? says('Thanks.') : asks(TODO))(response, request);
  });
  const builtin_tools = [TODO.name];
  const agent_id = await made('/api/agents', { name: 'asks', provider_id, builtin_tools, approval_tools: builtin_tools });
  const worker = fleet.workers[0]!;
  const batch = Math.ceil(runs / batches);
  // Every run costs the worker some memory, so first measure the same number of ended runs for comparison.
  for (let done = 0; done < runs; done += batch) {
    await decided(scene, await parked(scene, agent_id, batch));
    say(`worker with ${done + batch} runs done: ${await memoryOf(worker.pid())} MB`);
  }
  const tasks: string[] = [];
  while (tasks.length < runs) {
    tasks.push(...(await parked(scene, agent_id, batch)));
    say(`worker with ${tasks.length} runs that wait: ${await memoryOf(worker.pid())} MB`);
  }
  worker.signal('SIGKILL');
  await until('another worker', async () => worker.pid() !== 0, 60_000);
  say(`worker after kill -9 and restart: ${await memoryOf(worker.pid())} MB`);
  const start = Date.now();
  await decided(scene, tasks.slice(0, decide));
  say(`${decide} of them decided and completed in ${((Date.now() - start) / 1000).toFixed(1)} s`);
  say(`worker then: ${await memoryOf(worker.pid())} MB`);
  await decided(scene, tasks.slice(decide));
  say(`all ${runs} decided and completed; worker at the end: ${await memoryOf(worker.pid())} MB`);
});

/** Starts runs, each with its own workflow, and returns them once all wait. */
async function parked({ client, made }: Scene, agent_id: string, count: number): Promise<string[]> {
  const tasks = await inParallel(Array.from({ length: count }), async () => {
    const workflow_id = await made('/api/workflows', { agent_id, output_format: 'markdown' });
    return (await client.ok(client.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'May I?' }))).task_id as string;
  });
  await inParallel(tasks, (id) => reaches(client, id, 'waiting'));
  return tasks;
}

async function decided({ client }: Scene, tasks: string[]): Promise<void> {
  await inParallel(tasks, (id) => client.ok(client.post(`/api/tasks/${id}/approvals/1-1`, { decision: 'approve' })));
  await inParallel(tasks, (id) => reaches(client, id, 'completed'));
}

async function reaches(client: Scene['client'], task_id: string, status: string): Promise<void> {
  const at = async () => (await client.ok(client.get(`/api/tasks/${task_id}`))).status === status;
  assert.ok(await until(`${task_id} is ${status}`, at, 120_000));
}

async function inParallel<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const one = async () => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index]!);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, one));
  return results;
}

/** Resident memory in MB. */
async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

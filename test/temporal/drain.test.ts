import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startApiProcess, startWorkerProcess } from '../support/machine/processes.ts';
import { asks, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(() => here.stop());

const napping = (seconds: number) =>
  `import time\nEFFECT = "read"\ndef nap() -> str:\n    time.sleep(${seconds})\n    return "rested"\n`;

async function toolOf(workflow_id: string) {
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  return (await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`))).name as string;
}

/** A run whose tool is at work. */
async function napper(seconds: number) {
  const workflow_id = await here.workflow({ tools: [napping(seconds)] });
  here.model.script(asks({ name: await toolOf(workflow_id) }), says('Awake.'));
  const task_id = await here.prompt(workflow_id);
  const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
  await here.alice.events(stream, { enough: ({ data }) => data.event === 'tool_call' });
  return task_id;
}
const attemptsOf = async (task_id: string) =>
  ((await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps`))) as any)[0].tool_calls[0].attempts as number;

describe('SIGTERM', () => {
  it('lets a worker finish what it has begun', { timeout: 90_000 }, async () => {
    const worker = await startWorkerProcess(here.setting);
    const task_id = await napper(2);
    expect(await worker.end('SIGTERM')).toBe(0);
    const next = await startWorkerProcess(here.setting);
    expect(await here.ended(task_id, 30_000)).toMatchObject({ status: 'completed' });
    expect(await attemptsOf(task_id)).toBe(1);
    expect(await next.end('SIGTERM')).toBe(0);
  });

  it('makes a worker hand over calls that take too long, without halting their runs', { timeout: 90_000 }, async () => {
    const worker = await startWorkerProcess(here.setting, { WORKER_SHUTDOWN_SECONDS: '1' });
    const task_id = await napper(8);
    expect(await worker.end('SIGTERM')).toBe(0);
    const next = await startWorkerProcess(here.setting);
    expect(await here.ended(task_id, 40_000)).toMatchObject({ status: 'completed', response: 'Awake.' });
    expect(await attemptsOf(task_id)).toBe(2);
    expect(await next.end('SIGTERM')).toBe(0);
  });

  it('makes an API server end its streams with a hint to come back', { timeout: 60_000 }, async () => {
    const { api, client, token } = await startApiProcess(here.setting);
    const { id: agent_id } = await client.ok(client.post('/api/agents', { name: 'streams' }));
    const { id } = await client.ok(client.post('/api/workflows', { agent_id }));
    const headers = { authorization: `Bearer ${token}` };
    const stream = await fetch(`${client.url}/api/workflows/${id}/stream`, { headers });
    const text = stream.text();
    expect(await api.end('SIGTERM')).toBe(0);
    expect(await text).toMatch(/retry: \d+\n\n$/);
  });
});

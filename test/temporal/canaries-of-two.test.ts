import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
const workers: Child[] = [];
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(async () => {
  for (const worker of workers) await worker.end('SIGKILL');
  await here.stop();
});

const LEAK = (name: string) => `
import base64, os
ENV = {"KEY": "what it is for"}
def ${name}() -> str:
    secret = os.environ["KEY"]
    with open(os.environ["PERDURA_WORKSPACE"] + "/leaked.txt", "w") as file:
        file.write("here: " + secret + " and " + base64.b64encode(secret.encode()).decode() + "\\n")
    return "written"
`;

it('a worker that never opened a secret redacts it from a file that a tool of another worker wrote', async () => {
  const secret = 'canary-4f1c9be07a52-of-two-workers';
  await here.alice.ok(here.alice.post('/api/tokens', { name: 'leaked', value: secret }), 201);
  const tool = { name: 'leak', source_code: LEAK('leak'), env_config: { KEY: { token_name: 'leaked' } } };
  const { id } = await here.alice.ok(here.alice.post('/api/custom-tools', tool), 201);
  const builtin_tools = ['read', 'bash'];
  const workflow_id = await here.workflow({ agent: { custom_tool_ids: [id], builtin_tools, approval_tools: builtin_tools } });
  workers.push(await startWorkerProcess(here.setting));
  here.model.script(
    asks({ name: 'leak' }),
    asks({ name: 'read', args: { file_path: 'leaked.txt' } }, { name: 'bash', args: { command: 'cat leaked.txt' } }),
    says('Seen.'),
  );
  const task_id = await here.prompt(workflow_id);
  const taskOf = () => here.alice.ok(here.alice.get(`/api/tasks/${task_id}`));
  await until('the run waits for the calls to be approved', async () => (await taskOf()).status === 'waiting', 40_000);
  await workers.shift()!.end('SIGTERM');
  workers.push(await startWorkerProcess(here.setting));
  for (const call of ['2-1', '2-2'])
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/${call}`, { decision: 'approve' }));
  expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'Seen.' });
  const last = here.model.requests.at(-1)!;
  const results = last.messages.filter(({ role }) => role === 'tool').map(({ content }) => content ?? '');
  expect(results).toHaveLength(3);
  // The second worker has read the file itself, and both forms of the secret in it.
  for (const result of results.slice(1)) expect(result).toContain('here: [redacted] and [redacted]');
  const events = await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`);
  const everything = JSON.stringify([here.model.requests.map(({ messages }) => messages), await taskOf(), events]);
  for (const form of [secret, Buffer.from(secret).toString('base64')]) expect(everything).not.toContain(form);
}, 150_000);

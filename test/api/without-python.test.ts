import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ToolCallRecord } from '../../src/contracts/tasks.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, envOf, perdura, startApiProcess, startWorkerProcess } from '../support/machine/processes.ts';
import { asks, says } from '../support/peers/model-server.ts';

const NO_PYTHON = { PATH: '/nonexistent' };
const REASON = 'There is no usable Python interpreter at "python3": install Python 3.9 or newer, or set TOOLRUNNER_PYTHON';
const TOOL = 'def word_count(text: str) -> int:\n    return len(text.split())\n';

let here: TestInstallation;
const running: Child[] = [];
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(async () => {
  for (const child of running) await child.end('SIGKILL');
  await here?.stop();
});

it('API and worker start without Python, run everything but tools, and give the reason why those do not run', {
  timeout: 120_000,
}, async () => {
  const workflow_id = await here.workflow({ tools: [TOOL], agent: { builtin_tools: ['manage_todo_list'] } });
  const [tool] = (await here.alice.get('/api/custom-tools')).body as unknown as { name: string }[];
  const worker = await startWorkerProcess(here.setting, NO_PYTHON);
  running.push(worker);
  expect(worker.output()).toContain(`Tools do not run. ${REASON}`);
  const { api, client } = await startApiProcess(here.setting, NO_PYTHON);
  running.push(api);

  const { status, body } = await client.get('/health/ready');
  expect(status).toBe(200);
  expect(body).toMatchObject({ tool_isolation: 'refused', checks: { tools: { ok: true, detail: `do not run (${REASON})` } } });
  const refused = await client.post('/api/custom-tools', { name: 'second', source_code: TOOL.replace('word_count', 'second') });
  expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_tool' } });
  expect(JSON.stringify(refused.body)).toContain('install Python 3.9 or newer');

  here.model.script(
    asks({ name: 'manage_todo_list', args: { todoList: [] } }, { name: tool!.name, args: { text: 'a b' } }),
    says('Done without it.'),
  );
  const task = await here.ended(await here.prompt(workflow_id), 60_000);
  expect(task).toMatchObject({ status: 'completed', response: 'Done without it.' });
  const [step] = (await here.alice.get(`/api/tasks/${task.id}/steps`)).body as unknown as { tool_calls: ToolCallRecord[] }[];
  expect(step!.tool_calls.map(({ name, failed, result }) => ({ name, failed, result }))).toEqual([
    { name: 'manage_todo_list', failed: false, result: expect.any(String) },
    { name: tool!.name, failed: true, result: JSON.stringify({ error: REASON }) },
  ]);
});

it('doctor fails the tools, and nothing else that needs no Python', { timeout: 60_000 }, async () => {
  const child = perdura('doctor', { ...envOf(here.setting), ...NO_PYTHON, IDENTITY_PROVIDERS: 'local' }, ['--json']);
  const [code] = (await child.ended) as [number];
  expect(code).toBe(1);
  const verdicts = JSON.parse(child.output()) as { check: string; ok: boolean; detail: string }[];
  expect(verdicts.filter(({ ok }) => !ok)).toEqual([{ check: 'tools', ok: false, detail: `do not run (${REASON})` }]);
});

it('a named interpreter that is missing ends the start', { timeout: 60_000 }, async () => {
  const worker = perdura('worker', { ...envOf(here.setting), TOOLRUNNER_PYTHON: '/opt/none/python' });
  const [code] = (await worker.ended) as [number];
  expect(code).toBe(1);
  expect(worker.output()).toContain('perdura worker: There is no usable Python interpreter at "/opt/none/python"');
});

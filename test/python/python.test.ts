import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { makeOnce, testPython } from '../support/machine/python-venv.ts';
import { asks, says } from '../support/peers/model-server.ts';

const CLIENT = fileURLToPath(new URL('openai_client.py', import.meta.url));

let python: Awaited<ReturnType<typeof testPython>>;
let home: string;
let here: TestInstallation;
beforeAll(async () => {
  python = await testPython();
  home = await mkdtemp(join(tmpdir(), 'perdura-python-'));
  await chmod(home, 0o711);
  here = await startTestInstallation({ env: { PERDURA_HOME: home, ALLOW_STDIO_MCP: 'true' } });
}, 300_000);
afterAll(async () => {
  await here?.stop();
  if (home) await rm(home, { recursive: true, force: true });
});

it('an environment that several test files need at once is made by one of them', async () => {
  const venv = join(home, 'environments', 'shared');
  const made = await Promise.all([1, 2, 3].map(() => makeOnce(venv, [])));
  expect(made.filter(Boolean)).toHaveLength(1);
  expect(await makeOnce(venv, [])).toBe(false);
  const { stdout } = await promisify(execFile)(join(venv, 'bin', 'python'), ['-c', 'import sys; print(sys.prefix)']);
  expect(stdout.trim()).toBe(venv);
});

it("OpenAI's Python client is served by changing its base URL", async () => {
  const model = await here.workflow();
  here.model.script(
    says('One.'),
    says('Two of them.', { pause_ms: 150 }),
    says('Three.'),
    says('Four of them.', { pause_ms: 150 }),
  );
  const { stdout } = await promisify(execFile)(python.python, [CLIENT, `${here.url}/v1`, ALICE, model]);
  const { id, ...seen } = JSON.parse(stdout);
  expect(seen).toEqual({
    completion: 'One.',
    completion_tokens: 5,
    streamed: ['Two of them.', true],
    response: ['completed', 'Three.'],
    response_streamed: ['Four of them.', true, 'Four of them.'],
    models: true,
    unknown_model: ['NotFoundError', 404, 'model_not_found'],
    wrong_token: ['AuthenticationError', 401],
  });
  const task = await here.alice.ok(here.alice.get(`/api/tasks/${id.replace('chatcmpl-', '')}`));
  expect(task).toMatchObject({ status: 'completed', workflow_id: model, trigger: 'api' });
}, 60_000);

it('a Python MCP server from PyPI serves an agent from inside the sandbox', async () => {
  const { alice } = here;
  const connection_config = { command: python.python, args: ['-m', 'mcp_server_time', '--local-timezone', 'Asia/Tokyo'] };
  const values = {
    name: 'time',
    transport_type: 'stdio',
    connection_config,
    paths: [python.venv, python.base].filter((path) => !path.startsWith('/usr')),
  };
  const server = await alice.ok(alice.post('/api/mcps', values));
  const workflow_id = await here.workflow({ agent: { mcp_server_ids: [server.id], required_mcp_servers: [server.id] } });
  const args = { source_timezone: 'Asia/Tokyo', time: '12:00', target_timezone: 'UTC' };
  here.model.script(asks({ name: 'convert_time', args }), says('Three in the morning.'));
  const task = await here.ended(await here.prompt(workflow_id), 60_000);
  expect(task).toMatchObject({ status: 'completed', response: 'Three in the morning.', turns: 1 });
  const offered = here.model.requests.at(-1)?.tools?.map(({ function: { name } }) => name);
  expect(offered).toEqual(expect.arrayContaining(['get_current_time', 'convert_time']));
  const result = here.model.requests.at(-1)?.messages.find(({ role }) => role === 'tool')?.content ?? '';
  expect(JSON.parse(result)).toMatchObject({ target: { timezone: 'UTC', datetime: expect.stringContaining('T03:00:00') } });
}, 90_000);

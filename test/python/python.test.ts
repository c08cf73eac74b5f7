import { execFile, spawn } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { childOf } from '../support/machine/processes.ts';
import { makeOnce, testPython } from '../support/machine/python-venv.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

const CLIENT = fileURLToPath(new URL('openai_client.py', import.meta.url));
const MCP_CLIENT = fileURLToPath(new URL('mcp_client.py', import.meta.url));

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

/** Makes an environment as another test file would: holds its lock, and makes it when its input ends. */
const OTHER_FILE = `
import fcntl, os, sys
venv = sys.argv[1]
with open(venv + '.lock', 'w') as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print('locked', flush=True)
    sys.stdin.read()
    os.mkdir(venv)
    open(venv + '.complete', 'w').close()
`;

it.runIf(process.platform === 'linux')(
  'an environment that another test file makes is waited for, and not made again',
  async () => {
    const venv = join(home, 'shared');
    const process_of_other = spawn('python3', ['-c', OTHER_FILE, venv]);
    const other = childOf(process_of_other);
    await other.prints(/locked/);
    const made = makeOnce(venv, []);
    const { ino } = await stat(`${venv}.lock`);
    const isWaitedFor = async () => new RegExp(`-> FLOCK .*:${ino} `).test(await readFile('/proc/locks', 'utf8'));
    await until('the second waits for the lock', isWaitedFor);
    process_of_other.stdin.end();
    expect(await made).toBe(false);
    expect(await readdir(venv)).toEqual([]);
    expect(await makeOnce(join(home, 'free'), [])).toBe(true);
  },
);

it.each([
  ['auto', '2026-07-28'],
  ['legacy', '2025-11-25'],
])('the MCP client for Python calls a workflow as a tool, in the mode %s', async (mode, version) => {
  const workflow_id = await here.workflow({ workflow: { title: 'From Python' } });
  here.model.script(says('Hello, snake.'));
  const name = `From_Python_${workflow_id.slice(-8)}`;
  const options = { env: { ...process.env, TOKEN: here.people.alice.token } };
  const { stdout } = await promisify(execFile)(python.python, [MCP_CLIENT, mode, `${here.url}/mcp`, name], options);
  expect(JSON.parse(stdout)).toEqual({ version, listed: true, answer: 'Hello, snake.' });
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

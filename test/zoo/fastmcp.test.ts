import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { getOrReport } from '../support/machine/had.ts';
import { baseEnv, type Child, childOf, freePort } from '../support/machine/processes.ts';
import { type PythonEnvironment, pythonWith } from '../support/machine/python-venv.ts';
import { type Answer, asks, says } from '../support/peers/model-server.ts';
import { pathOf, textsOf } from './support.ts';

const SERVER = pathOf('fastmcp_server.py');
/** The oldest version in use, the one that most have, and the one whose SDK speaks the protocol of 2026. */
const VERSIONS = ['2.14.7', '3.4.11', '4.2.3'];
const environments = new Map<string, PythonEnvironment | null>();
for (const version of VERSIONS)
  environments.set(version, await getOrReport(`FastMCP ${version}`, () => pythonWith([`fastmcp==${version}`])));

interface Manner {
  what: string;
  transport: 'http' | 'sse';
  options: string[];
}

const MANNERS: Manner[] = [
  { what: 'over HTTP with sessions', transport: 'http', options: [] },
  { what: 'over HTTP without sessions', transport: 'http', options: ['stateless_http'] },
  { what: 'over HTTP with answers in JSON', transport: 'http', options: ['json_response', 'stateless_http'] },
  { what: 'over SSE', transport: 'sse', options: [] },
];

let here: TestInstallation;
let home: string;
const running: Child[] = [];
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-fastmcp-'));
  await chmod(home, 0o711);
  here = await startTestInstallation({ env: { PERDURA_HOME: home, ALLOW_STDIO_MCP: 'true' } });
});
afterEach(async () => {
  for (const child of running.splice(0)) await child.end('SIGKILL');
});
afterAll(async () => {
  await here?.stop();
  if (home) await rm(home, { recursive: true, force: true });
});

const register = async (values: object): Promise<string> =>
  (await here.alice.ok(here.alice.post('/api/mcps', { name: here.unique('zoo'), ...values }), 201)).id;

/** Runs a prompt of an agent that has the server, with these answers of the model. */
async function run(server_id: string, answers: Answer[]): Promise<Record<string, any>> {
  here.model.script(...answers);
  const agent = { mcp_server_ids: [server_id], required_mcp_servers: [server_id] };
  return here.ended(await here.prompt(await here.workflow({ agent, workflow: { max_turns: 20 } })), 60_000);
}

const CITIES = ['Oslo', 'Rome'];
const EVERY_TOOL = [
  asks(
    { name: 'weather', args: { cities: CITIES } },
    { name: 'temperature', args: { city: 'Oslo' } },
    { name: 'picture' },
    { name: 'refuse' },
    { name: 'temperature', args: {}, id: 'wrong' },
  ),
  says('Done.'),
];

/** Expects what every version returns, however it is served. */
async function expectResults(task: Record<string, any>): Promise<void> {
  expect(task).toMatchObject({ status: 'completed', response: 'Done.' });
  const [weather = '', temperature, picture = '', refusal = '', wrong = ''] = textsOf(task, 'tool');
  expect(CITIES.map((city) => weather.split(city).length - 1)).toEqual([1, 1]);
  expect(temperature).toBe('-5');
  expect(picture).toContain('image');
  expect(refusal).toContain('There is no such city.');
  expect(wrong).toContain('city');
  const files = task.logs.flatMap(({ files = [] }: { files?: object[] }) => files);
  expect(files).toMatchObject([{ media_type: 'image/png' }]);
  expect(await here.alice.get(`/api/attachments/${files[0].id}/content`)).toMatchObject({ status: 200 });
}

describe.each(VERSIONS)('a server of FastMCP %s', { timeout: 120_000 }, (version) => {
  const environment = environments.get(version);

  async function start(port: number, { transport, options }: Manner): Promise<Child> {
    const args = [SERVER, transport, String(port), ...options];
    const child = childOf(spawn(environment!.python, args, { env: baseEnv(), stdio: ['ignore', 'pipe', 'pipe'] }));
    running.push(child);
    await child.prints(/running on/i);
    return child;
  }

  it.skipIf(!environment)('in the sandbox has its tools called, its image kept and its errors reported', async () => {
    const connection_config = { command: environment!.python, args: [SERVER, 'stdio'] };
    const paths = [environment!.venv, environment!.base, dirname(SERVER)].filter((path) => !path.startsWith('/usr'));
    await expectResults(await run(await register({ transport_type: 'stdio', connection_config, paths }), EVERY_TOOL));
  });

  describe.skipIf(!environment).each(MANNERS)('$what', (manner) => {
    it('has its tools called, its image kept and its errors reported, also after restarts', async () => {
      const port = await freePort();
      const { transport } = manner;
      const connection_config = { url: `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}` };
      const server_id = await register({ transport_type: transport, connection_config });
      let server = await start(port, manner);
      await expectResults(await run(server_id, EVERY_TOOL));
      const again: (answer: Answer) => Answer = (answer) => async (response, request) => {
        await server.end('SIGKILL');
        server = await start(port, manner);
        await answer(response, request);
      };
      // Before the run, and in the middle of it.
      await server.end('SIGKILL');
      server = await start(port, manner);
      const task = await run(server_id, [
        asks({ name: 'process' }),
        again(asks({ name: 'process', id: 'second' })),
        says('Done.'),
      ]);
      expect(task).toMatchObject({ status: 'completed', response: 'Done.' });
      const [first, second] = textsOf(task, 'tool').map(Number);
      expect(first).toBeGreaterThan(0);
      expect(second).toBe(server.pid);
    });
  });
});

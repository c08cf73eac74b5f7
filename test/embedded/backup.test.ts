import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isTerminal } from '../../src/domain/statuses.ts';
import { KEPT, LEFT_OUT } from '../../src/embedded/backup-contents.ts';
import { type Client, clientOf } from '../support/client.ts';
import { testBench } from '../support/harness/embedded-homes.ts';
import { type Child, perdura } from '../support/machine/processes.ts';
import { until } from '../support/until.ts';

const bench = testBench();
const running: Child[] = [];
afterAll(async () => {
  // Not killed: its servers would be left behind.
  for (const child of running) await child.end('SIGINT');
  await bench.clear();
}, 60_000);

interface Home {
  home: string;
  child: Child;
  client: Client;
  api_url: string;
  pids: Record<string, number>;
}

async function start(home: string): Promise<Home> {
  const child = perdura('dev', { PERDURA_HOME: home, RECONCILE_SECONDS: '5', TOOL_ISOLATION: 'none' });
  running.push(child);
  await child.prints(/Perdura is ready/, 90_000);
  const { api_url, token_file, pids } = JSON.parse(await readFile(join(home, 'ready.json'), 'utf8'));
  const token = (await readFile(token_file, 'utf8')).trim();
  return { home, child, api_url, pids, client: clientOf(api_url, token) };
}

/** Runs a command to its end. */
async function command(name: string, home: string, ...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = perdura(name, { PERDURA_HOME: home }, args);
  const [code] = (await child.ended) as [number | null];
  return { code, output: child.output() };
}

/** Notes each call, and the variable it was given, in a file outside of all homes. */
const noting = (file: string) => `import os, time

ENV = {"SECRET": "a stored token"}
EFFECT = "write"


def note_effect(q: str) -> str:
    """Notes its call."""
    log = os.open(${JSON.stringify(file)}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(log, f"{os.environ['PERDURA_CALL_KEY']} {os.environ['SECRET']}\\n".encode())
    time.sleep(0.2)
    return "noted"
`;

/** Four calls of the tool, then a text. */
const PROMPT = '[[turns=5;tool=note_effect;tokens=30;itl_ms=5]] Note it.';
const SECRET = 'value-of-a-stored-token';

async function furnish(client: Client, effects: string): Promise<string[]> {
  const made = async (path: string, body: object) => (await client.ok(client.post(path, body), 201)).id as string;
  await made('/api/tokens', { name: 'secret', value: SECRET });
  const tool = await made('/api/custom-tools', {
    name: 'note_effect',
    source_code: noting(effects),
    env_config: { SECRET: { token_name: 'secret' } },
  });
  const source_id = await made('/api/knowledge-sources', { name: 'facts' });
  await made('/api/knowledge-items', { source_id, name: 'fact', content: 'The moon is not made of cheese.' });
  const [provider] = (await client.ok(client.get('/api/providers'))) as unknown as { id: string }[];
  const agent_id = await made('/api/agents', {
    name: 'notes',
    provider_id: provider!.id,
    custom_tool_ids: [tool],
    builtin_tools: ['write', 'read'],
  });
  return Promise.all(
    [1, 2, 3, 4].map((title) => made('/api/workflows', { agent_id, title: `lane ${title}`, output_format: 'markdown' })),
  );
}

/** Prompts to all workflows, more often than runs end, until it is stopped. Notes the answered ones. */
const MOST_UNENDED = 8;

interface Listed {
  id: string;
  status: string;
}

const tasksOf = async (client: Client) => (await client.ok(client.get('/api/tasks?limit=1000'))) as unknown as Listed[];
const unended = async (client: Client) => (await tasksOf(client)).filter(({ status }) => !isTerminal(status)).length;

function load(client: Client, workflows: string[]) {
  const answered: string[] = [];
  let on = true;
  const lane = async (id: string) => {
    while (on) {
      if ((await unended(client)) < MOST_UNENDED) {
        const { status, body } = await client.post(`/api/workflows/${id}/prompt`, { prompt: PROMPT });
        if (status === 201) answered.push(body.task_id);
      }
      await new Promise((done) => setTimeout(done, 300));
    }
  };
  const lanes = Promise.all(workflows.map(lane)).catch(() => {});
  return {
    answered,
    async stop() {
      on = false;
      await lanes;
    },
  };
}

const linesOf = async (file: string) => (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean);

let home: string;
let effects: string;
let file: string;
beforeAll(async () => {
  home = await bench.home();
  await chmod(home, 0o711);
  const outside = await bench.home();
  await chmod(outside, 0o777);
  effects = join(outside, 'effects');
  file = join(outside, 'night: 1.backup');
});

it('takes all that a running installation holds, and no write is repeated silently where it is restored', async () => {
  const first = await start(home);
  const workflows = await furnish(first.client, effects);
  const workspace = join(home, 'workspaces/kept-by-hand');
  await mkdir(workspace, { recursive: true });
  await writeFile(join(workspace, 'note.txt'), 'from a run');
  const prompts = load(first.client, workflows);
  await expect.poll(async () => (await linesOf(effects)).length, { timeout: 30_000 }).toBeGreaterThan(6);
  const before = { answered: [...prompts.answered] };

  const made = await command('backup', home, file);
  expect(made).toMatchObject({ code: 0, output: expect.stringMatching(/is complete: [\d.]+ MB, readable by this user only/) });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const entries = await readdir(home);
  const known = [...KEPT.map((path) => path.split('/')[0]), 'temporal'];
  expect(entries.filter((name) => !known.includes(name) && !LEFT_OUT.some((pattern) => pattern.test(name)))).toEqual([]);
  await prompts.stop();
  const after = (await linesOf(effects)).length;
  await expect.poll(async () => (await linesOf(effects)).length).toBeGreaterThan(after);
  // The whole machine is lost.
  for (const pid of Object.values(first.pids)) process.kill(pid, 'SIGKILL');
  await first.child.ended;

  const elsewhere = join(await bench.home(), 'new');
  await chmod(join(elsewhere, '..'), 0o711);
  const occupied = createServer().listen(Number(new URL(first.api_url).port), '127.0.0.1');
  bench.keep({ stop: async () => void occupied.close() });
  expect(await command('restore', elsewhere, file)).toMatchObject({ code: 0, output: expect.stringContaining('npm start') });
  const second = await start(elsewhere);
  expect(second.api_url).not.toBe(first.api_url);
  expect(await readFile(join(elsewhere, 'workspaces/kept-by-hand/note.txt'), 'utf8')).toBe('from a run');
  await checkRestored(second.client, before);
  await second.child.end('SIGINT');
}, 240_000);

async function checkRestored(client: Client, before: { answered: string[] }): Promise<void> {
  const [tool] = (await client.ok(client.get('/api/custom-tools'))) as unknown as { id: string; name: string }[];
  expect(tool).toBeDefined();
  expect(await client.ok(client.get('/api/knowledge-items'))).toMatchObject([{ name: 'fact' }]);
  let asked = 0;
  const settled = async () => {
    const tasks = await tasksOf(client);
    for (const { id } of tasks.filter(({ status }) => status === 'waiting')) asked += await settle(client, id);
    return tasks.every(({ status }) => isTerminal(status)) && tasks;
  };
  const tasks = await until('the end of all runs', settled, 120_000);
  const ids = new Set(tasks.map(({ id }) => id));
  expect(before.answered.filter((id) => !ids.has(id))).toEqual([]);
  expect(tasks.filter(({ status }) => status !== 'completed')).toEqual([]);
  const lines = await linesOf(effects);
  const repeated = lines.filter((line, at) => lines.indexOf(line) !== at);
  expect(repeated).toEqual([]);
  expect(asked).toBeGreaterThan(0);
  expect(new Set(lines.map((line) => line.split(' ')[1]))).toEqual(new Set([SECRET]));
}

/** Answers what a run asks: the effects happened, as far as this test knows. */
async function settle(client: Client, task_id: string): Promise<number> {
  const steps = (await client.ok(client.get(`/api/tasks/${task_id}/steps`))) as unknown as {
    tool_calls: { call_id: string; status: string }[];
  }[];
  const open = steps.flatMap(({ tool_calls }) => tool_calls).filter(({ status }) => status === 'waiting_reconciliation');
  const answers = open.map(({ call_id }) =>
    client.post(`/api/tasks/${task_id}/reconciliations/${call_id}`, { decision: 'done', result: 'noted, says the test' }),
  );
  return (await Promise.all(answers)).filter(({ status }) => status === 200).length;
}

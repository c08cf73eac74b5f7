import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ROLES, type Role, runIdOf } from '../../src/temporal/names.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, hangs, says } from '../support/model-server.ts';
import { asOperator } from '../support/operator.ts';
import { type Child, envOf, perdura } from '../support/processes.ts';
import { until } from '../support/until.ts';
import { MODULES, SERVERS } from '../tools/support.ts';

const SPLIT = { TEMPORAL_ROLE_QUEUES: 'true', ALLOW_STDIO_MCP: 'true', MCP_PATHS: '/:rw' };
const TOKENS = { provider: 'key-of-the-provider', tool: 'key-of-the-tool' };
const TOOLS_ROLE = `tools_${randomBytes(4).toString('hex')}`;

let here: TestInstallation;
/** The database as the tools workers see it. */
let limited_url: string;
const workers: Partial<Record<Role, Child>> = {};

beforeAll(async () => {
  here = await startTestInstallation({ worker: false, env: SPLIT });
  await asOperator(here.setting.database_url, (operator) => operator.query(`CREATE ROLE ${TOOLS_ROLE} LOGIN PASSWORD 'tools'`));
  expect(await migrated(TOOLS_ROLE)).toContain('Nothing to apply');
  const limited = new URL(here.setting.database_url);
  Object.assign(limited, { username: TOOLS_ROLE, password: 'tools' });
  limited_url = limited.href;
  for (const name of Object.values(TOKENS)) await here.alice.ok(here.alice.post('/api/tokens', { name, value: `${name}-value` }));
});
afterEach(async () => {
  for (const role of ROLES) await lose(role);
});
afterAll(async () => {
  await asOperator(here.setting.database_url, (operator) =>
    operator.query(`DROP OWNED BY ${TOOLS_ROLE}; DROP ROLE ${TOOLS_ROLE}`),
  );
  await here.stop();
});

async function migrated(role: string): Promise<string> {
  const child = perdura('migrate', envOf(here.setting), ['--tools-role', role]);
  await child.ended;
  return child.output();
}

/** A worker of one role in a separate process; that of tools signs in to Postgres as its own role. */
async function start(role: Role, setting = here.setting): Promise<void> {
  const limited = role === 'tools' ? { DATABASE_URL: limited_url } : {};
  const worker = perdura('worker', { ...envOf(setting), ...SPLIT, ...limited }, ['--role', role]);
  workers[role] = worker;
  await worker.prints(/takes work/);
}

async function lose(role: Role): Promise<void> {
  await workers[role]?.end('SIGKILL');
  delete workers[role];
}

/** `perdura doctor` about the workers, and readiness of the API. */
async function saidOfWorkers(env: Record<string, string> = {}) {
  const child = perdura('doctor', { ...envOf(here.setting), ...SPLIT, IDENTITY_PROVIDERS: 'local', ...env });
  await child.ended;
  const doctor = /^(?:ok|FAILED) +workers: .*$/m.exec(child.output())?.[0] ?? child.output();
  const { body } = await here.alice.get('/health/ready');
  return { doctor, ready: body as { status: string; checks: Record<string, { ok: boolean; detail: string }> } };
}

/** The process that took each activity of a run. */
async function takersOf(task_id: string): Promise<Record<string, number[]>> {
  const { events } = await here.driver.client.workflow.getHandle(runIdOf(task_id)).fetchHistory();
  const types = new Map<string, string>();
  const takers: Record<string, Set<number>> = {};
  for (const { eventId, activityTaskScheduledEventAttributes: asked, activityTaskStartedEventAttributes: taken } of events ??
    []) {
    if (asked) types.set(String(eventId), asked.activityType?.name ?? '');
    const type = taken && types.get(String(taken.scheduledEventId));
    if (type) takers[type] = (takers[type] ?? new Set()).add(Number.parseInt(taken.identity ?? '', 10));
  }
  return Object.fromEntries(Object.entries(takers).map(([type, pids]) => [type, [...pids]]));
}

/** A tool that takes some seconds, and says how long its stored token is. */
const source = (name: string) => `
import os, time
EFFECT = "read"
ENV = {"KEY": "of the tool"}
def ${name}(seconds: int) -> str:
    time.sleep(seconds)
    return "the key has %d characters" % len(os.environ["KEY"])
`;

let made = 0;
/** Long enough for a worker to be killed meanwhile. */
const SECONDS = 6;

/** A workflow with a provider's key, a Python tool with a stored token, and an MCP server. */
async function workflowOf() {
  const number = ++made;
  const ok = async (path: string, body: object) => (await here.alice.ok(here.alice.post(path, body))).id as string;
  const provider_id = await ok('/api/providers', {
    ...{ name: `with a key ${number}`, provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted' },
    api_key_token_name: TOKENS.provider,
  });
  const look = `look${number}`;
  const custom_tool = await ok('/api/custom-tools', {
    ...{ name: look, source_code: source(look) },
    env_config: { KEY: { token_name: TOKENS.tool } },
  });
  const mcp_server = await ok('/api/mcps', {
    ...{ name: `server${number}`, transport_type: 'stdio', paths: [MODULES, process.execPath, SERVERS] },
    connection_config: { command: process.execPath, args: [`${SERVERS}/odd.mjs`, 'changes'], env: {} },
  });
  const agent = {
    provider_id,
    custom_tool_ids: [custom_tool],
    mcp_server_ids: [mcp_server],
    builtin_tools: ['bash', 'store_memory'],
  };
  return {
    workflow_id: await here.workflow({ agent, workflow: { max_turns: 20 } }),
    look,
  };
}

const callsOf = async (task_id: string) =>
  (await here.core.database.pool.query('SELECT status FROM tool_calls WHERE task_id = $1', [task_id])).rows as {
    status: string;
  }[];
const resultsOf = async (task_id: string) =>
  ((await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).messages as { role: string; content: string }[])
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content);

describe('workers of one role each', () => {
  it('complete a run with a model, a Python tool, an MCP server, a file and a memory, each with its own work', async () => {
    for (const role of ROLES) await start(role);
    const { workflow_id, look } = await workflowOf();
    here.model.script(
      asks({ name: look, args: { seconds: 0 } }, { name: 'change', args: {}, id: 'mcp' }),
      asks({ name: 'bash', args: { command: 'echo 42 > x; cat x' } }),
      asks({ name: 'store_memory', args: { key: 'answer', value: '42' } }),
      says('Done.'),
    );
    const task_id = await here.prompt(workflow_id);
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'Done.' });
    const results = await resultsOf(task_id);
    expect(results[0]).toContain(`the key has ${`${TOKENS.tool}-value`.length} characters`);
    expect(results[2]).toContain('42');
    expect(results).toHaveLength(4);
    expect(here.model.requests.at(-1)).toMatchObject({ authorization: `Bearer ${TOKENS.provider}-value` });
    const pids = Object.fromEntries(ROLES.map((role) => [role, workers[role]!.pid]));
    expect(await takersOf(task_id)).toEqual({ exchange: [pids.models], callTool: [pids.tools] });
    const { doctor, ready } = await saidOfWorkers();
    expect(doctor).toMatch(
      /^ok +workers: 1 take work from test-\w+, 1 take work from test-\w+-models, 1 take work from test-\w+-tools$/,
    );
    expect(ready.checks.workers).toMatchObject({ ok: true, detail: expect.stringContaining('1 take work from') });
  }, 180_000);

  it('leave a run waiting while one of them is missing, which doctor and readiness name, and continue it afterwards', async () => {
    for (const role of ['runs', 'models'] as const) await start(role);
    const { workflow_id, look } = await workflowOf();
    here.model.script(asks({ name: look, args: { seconds: SECONDS } }), says('Continued.'));
    const task_id = await here.prompt(workflow_id);
    await until('the call is planned', async () => (await callsOf(task_id)).length === 1, 60_000);
    const named = /None takes work from test-\w+-tools: runs wait until one is started \(perdura worker --role tools\)/;
    const missing = await until(
      'it is noticed',
      async () => {
        const said = await saidOfWorkers();
        return said.doctor.startsWith('FAILED') && said;
      },
      200_000,
    );
    expect(missing.doctor).toMatch(named);
    expect(missing.ready).toMatchObject({
      status: 'ready',
      checks: { workers: { ok: true, detail: expect.stringMatching(named) } },
    });
    expect(await callsOf(task_id)).toEqual([{ status: 'planned' }]);
    await start('tools');
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'Continued.' });
  }, 330_000);

  it.each(ROLES)(
    'lose the one with the role %s by kill -9 and continue with another one',
    async (role) => {
      for (const each of ROLES) await start(each);
      const { workflow_id, look } = await workflowOf();
      const half = role === 'models' ? [hangs('Half of ')] : [];
      here.model.script(asks({ name: look, args: { seconds: SECONDS } }), ...half, says('All of it.'));
      const asked = here.model.requests.length;
      const task_id = await here.prompt(workflow_id);
      await until('the tool is called', async () => (await callsOf(task_id))[0]?.status === 'started', 60_000);
      if (role === 'models') {
        await until('the model speaks', async () => here.model.requests.length === asked + 2, 60_000);
      }
      await lose(role);
      await start(role);
      expect(await here.ended(task_id, 90_000)).toMatchObject({ status: 'completed', response: 'All of it.', turns: 1 });
      expect((await resultsOf(task_id)).map((result) => result.includes('the key has'))).toEqual([true]);
    },
    240_000,
  );

  it('are named while work is left in their queues, also when no run sends more there', async () => {
    for (const role of ['runs', 'models'] as const) await start(role);
    const { workflow_id, look } = await workflowOf();
    here.model.script(asks({ name: look, args: { seconds: SECONDS } }));
    const task_id = await here.prompt(workflow_id);
    const off = async () => (await saidOfWorkers({ TEMPORAL_ROLE_QUEUES: 'false' })).doctor;
    await until('the queue is named', async () => /None takes work from test-\w+-tools: /.test(await off()), 120_000);
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`), 202);
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'halted' });
  }, 300_000);

  it('carry out what was sent to the one queue of runs before there were others', async () => {
    const before = await startTestInstallation({ worker: false });
    try {
      const all = perdura('worker', envOf(before.setting));
      await all.prints(/takes work/);
      const agent = { builtin_tools: ['manage_todo_list'], approval_tools: ['manage_todo_list'] };
      before.model.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }), says('Upgraded.'));
      const task_id = await before.prompt(await before.workflow({ agent }));
      const task = () => before.alice.ok(before.alice.get(`/api/tasks/${task_id}`));
      await until('it waits', async () => (await task()).status === 'waiting', 60_000);
      await all.end('SIGKILL');
      await start('runs', before.setting);
      await before.alice.ok(before.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
      expect(await before.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'Upgraded.' });
    } finally {
      await lose('runs');
      await before.stop();
    }
  }, 180_000);
});

describe('the database role of tools workers', () => {
  const as = (sql: string) => asOperator(limited_url, (operator) => operator.query(sql));

  it('sees stored tokens that tools were granted, and no other', async () => {
    await workflowOf();
    expect((await as('SELECT name FROM stored_tokens')).rows).toEqual([{ name: TOKENS.tool }]);
    expect((await as(`SELECT sealed FROM stored_tokens WHERE name = '${TOKENS.provider}'`)).rows).toEqual([]);
  });

  it('reads sealed values in no column but those of its tokens and of the key of fingerprints', async () => {
    const sealed = await asOperator(here.setting.database_url, (operator) =>
      operator.query(
        `SELECT table_name || '.' || column_name AS place, has_column_privilege($1, table_name::regclass, column_name, 'SELECT') AS readable
         FROM information_schema.columns WHERE table_schema = current_schema() AND data_type = 'bytea' ORDER BY 1`,
        [TOOLS_ROLE],
      ),
    );
    const places = sealed.rows as { place: string; readable: boolean }[];
    expect(places.length).toBeGreaterThan(4);
    expect(places.filter(({ readable }) => readable).map(({ place }) => place)).toEqual([
      'grant_keys.sealed',
      'stored_tokens.sealed',
    ]);
  });

  it.each([
    'SELECT caller_token FROM tasks',
    'SELECT prompt FROM tasks',
    'SELECT * FROM providers',
    'SELECT * FROM scheduled_agents',
    'SELECT * FROM events',
    "UPDATE stored_tokens SET created_by = 'x'",
    'INSERT INTO secret_grants SELECT * FROM secret_grants',
    "UPDATE custom_tools SET source_code = ''",
    'DELETE FROM tasks',
    'CREATE TABLE mine (a int)',
    `SELECT drop_events('events_deltas', now())`,
    'SELECT make_event_partitions(now(), now())',
  ])('is refused: %s', async (sql) => {
    await expect(as(sql)).rejects.toThrow(/permission denied/);
  });

  it('loses what it was given before', async () => {
    await asOperator(here.setting.database_url, (operator) => operator.query(`GRANT ALL ON providers TO ${TOOLS_ROLE}`));
    await as('SELECT * FROM providers');
    await migrated(TOOLS_ROLE);
    expect(await as('SELECT * FROM providers').then(() => 'read', String)).toContain('permission denied');
  });

  it('must exist and be restricted', async () => {
    expect(await migrated('nobody_of_this_name')).toMatch(/has no role nobody_of_this_name; create it first: CREATE ROLE/);
    const { username } = new URL(here.setting.database_url);
    expect(await migrated(username)).toContain(`The role ${username} may read everything`);
  });
});

it.each([
  ['spare', /^perdura worker: --role: spare is not one of runs, models, tools, all$/m],
  ['', /^perdura worker: --role: an empty name is not one of/m],
])('a worker refuses the role "%s" with one sentence', async (role, sentence) => {
  const worker = perdura('worker', envOf(here.setting), ['--role', role]);
  expect(await worker.ended).toEqual([1, null]);
  expect(worker.output()).toMatch(sentence);
});

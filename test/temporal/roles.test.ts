import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { evaluationIdOf, ROLES } from '../../src/temporal/names.ts';
import { evaluating } from '../support/evaluations.ts';
import { startTestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/model-server.ts';
import { asOperator } from '../support/operator.ts';
import { envOf, perdura } from '../support/processes.ts';
import {
  closeRoles,
  here,
  limited_url,
  lose,
  loseAll,
  migrated,
  openRoles,
  resultsOf,
  saidOfWorkers,
  start,
  TOKENS,
  TOOLS_ROLE,
  takersIn,
  takersOf,
  workers,
  workflowOf,
} from '../support/role-workers.ts';
import { until } from '../support/until.ts';

beforeAll(openRoles);
afterEach(loseAll);
afterAll(closeRoles);

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

  it('grade answers with a model and a Python tool, each with its own work', async () => {
    for (const role of ROLES) await start(role);
    const { dataset, begin, ended } = evaluating(here);
    const { workflow_id } = await workflowOf();
    const source_code = 'def is_done(answer: str) -> bool:\n    return answer == "Done."\n';
    const tool = await here.alice.ok(here.alice.post('/api/custom-tools', { name: 'is_done', source_code }), 201);
    const provider = { name: 'of judges', provider_type: 'openai_compatible', base_url: here.model.url };
    const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', provider), 201);
    here.model.script(says('Done.'), says('{"pass": true, "reason": "It is done."}'));
    const graders = [
      { type: 'model', provider_id, model: 'scripted' },
      { type: 'python', tool_id: tool.id },
    ];
    const { evaluation, results } = await ended(await begin(await dataset({ a: 'x' }), { workflow_id, graders }));
    expect({ ...evaluation, results }).toMatchObject({ passed: 1, errors: 0, results: [{ error: null }] });
    const pids = Object.fromEntries(ROLES.map((role) => [role, workers[role]!.pid]));
    expect(await takersOf(results[0]?.grades[0].task_id)).toEqual({ exchange: [pids.models] });
    expect((await takersIn(evaluationIdOf(evaluation.id))).gradeByTool).toEqual([pids.tools]);
  }, 180_000);

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

  it('reads sealed values in no column but those of its tokens, of sign-ins at MCP servers and of the key of fingerprints', async () => {
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
      'mcp_sign_ins.sealed',
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

  it('may create nothing, also in a database in which everyone could, as with Postgres 14', async () => {
    const ask = (sql: string) => asOperator(here.setting.database_url, (operator) => operator.query(sql));
    await ask('GRANT CREATE ON SCHEMA public TO PUBLIC');
    await as('CREATE TABLE mine (a int)');
    await migrated(TOOLS_ROLE);
    await expect(as('CREATE TABLE more (a int)')).rejects.toThrow(/permission denied for schema public/);
    const other = `${TOOLS_ROLE}_group`;
    await ask(`CREATE ROLE ${other}; GRANT CREATE ON SCHEMA public TO ${other}; GRANT ${other} TO ${TOOLS_ROLE}`);
    expect(await migrated(TOOLS_ROLE)).toContain(`The role ${TOOLS_ROLE} may create tables and functions in the schema public`);
    await ask(`DROP OWNED BY ${other}; DROP ROLE ${other}; DROP TABLE mine`);
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

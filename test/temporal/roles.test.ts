import { v7 as uuid } from 'uuid';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SECRET_HOLDERS, type SecretHolder } from '../../src/domain/destinations.ts';
import { openDatabase } from '../../src/store/database/database.ts';
import { workerBeatStore } from '../../src/store/upkeep/worker-beats.ts';
import { ROLES, toEvaluationId } from '../../src/temporal/names.ts';
import { asOperator } from '../support/database/operator.ts';
import { startTestInstallation } from '../support/installation.ts';
import { leftBehind, startRenewing } from '../support/machine/left-behind.ts';
import { envOf, perdura } from '../support/machine/processes.ts';
import {
  closeRoles,
  here,
  limited_url,
  lose,
  loseAll,
  migrateRole,
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
} from '../support/machine/role-workers.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { openEvaluations } from '../support/runs/evaluations.ts';
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
    // The worker that calls the tool stores the file; the one that asks the model reads it.
    const { logs } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    const [file] = logs.flatMap(({ files = [] }: { files?: { id: string }[] }) => files);
    expect((await here.alice.get(`/api/attachments/${file.id}/content`)).status).toBe(200);
    expect(JSON.stringify(here.model.requests.at(-1)?.messages)).toContain('data:image/png;base64,');
    expect(here.model.requests.at(-1)).toMatchObject({ authorization: `Bearer ${TOKENS.provider}-value` });
    const pids = Object.fromEntries(ROLES.map((role) => [role, workers[role]!.pid]));
    expect(await takersOf(task_id)).toEqual({ exchange: [pids.models], callTool: [pids.tools] });
    // A long run continues in another history, which sends its work to the same queues.
    const remember = asks({ name: 'store_memory', args: { key: 'answer', value: '42' } });
    here.model.script(remember, remember, remember, says('Done again.'));
    const long_id = await leftBehind(here, workflow_id);
    await startRenewing(here, long_id, { max_turns: 20, renew_after: 2 });
    expect(await here.ended(long_id, 60_000)).toMatchObject({ status: 'completed', response: 'Done again.' });
    expect(await takersOf(long_id)).toEqual({ exchange: [pids.models], callTool: [pids.tools] });
    const { doctor, ready } = await saidOfWorkers();
    expect(doctor).toMatch(
      /^ok +workers: 1 takes work from test-\w+, 1 takes work from test-\w+-models, 1 takes work from test-\w+-tools$/,
    );
    expect(ready.checks.workers).toMatchObject({ ok: true, detail: expect.stringContaining('1 takes work from') });
  }, 180_000);

  it('grade answers with a model and a Python tool, each with its own work', async () => {
    for (const role of ROLES) await start(role);
    const { dataset, begin, ended } = openEvaluations(here);
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
    expect((await takersIn(toEvaluationId(evaluation.id))).gradeByTool).toEqual([pids.tools]);
  }, 180_000);

  it('ask a person before a call that needs an approval', async () => {
    for (const role of ROLES) await start(role);
    const { workflow_id, look } = await workflowOf();
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [look] }));
    here.model.script(asks({ name: look, args: { seconds: 0 } }), says('Done.'));
    const task_id = await here.prompt(workflow_id);
    const inbox = () => here.alice.ok(here.alice.get(`/api/inbox?task_id=${task_id}`)) as Promise<unknown>;
    await expect.poll(inbox, { timeout: 20_000 }).toMatchObject([{ kind: 'approval', tool: look }]);
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'Done.' });
  }, 120_000);

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
  let made = 0;
  const saved = async (path: string, body: object) =>
    (await here.bob.ok(here.bob.post(path, { name: `of bob ${++made}`, ...body }), 201)).id as string;
  /** Bob's resources that name a token. */
  const named: Record<SecretHolder, (token: string) => Promise<unknown>> = {
    provider: (api_key_token_name) =>
      saved('/api/providers', { provider_type: 'openai_compatible', base_url: here.model.url, api_key_token_name }),
    custom_tool: (token_name) =>
      saved('/api/custom-tools', {
        ...{ name: `of_bob_${++made}`, source_code: `ENV = {"KEY": "x"}\ndef of_bob_${made}() -> str:\n    return ""\n` },
        env_config: { KEY: { token_name } },
      }),
    mcp_server: (token) =>
      saved('/api/mcps', {
        transport_type: 'http',
        connection_config: { url: 'http://127.0.0.1:9', headers: { 'x-key': `{{token:${token}}}` } },
      }),
    knowledge_source: (token) =>
      saved('/api/knowledge-sources', {
        source_type: 'vector_db',
        connection_config: { url: 'http://127.0.0.1:9', collection: 'x', api_key: `{{token:${token}}}` },
      }),
    workflow: async (repo_token_name) =>
      saved('/api/workflows', {
        agent_id: await saved('/api/agents', {}),
        repo_url: 'https://example.com/x.git',
        repo_token_name,
      }),
  };
  const as = (sql: string) => asOperator(limited_url, (operator) => operator.query(sql));

  it('sees stored tokens that tools were granted, and no other', async () => {
    await workflowOf();
    expect((await as('SELECT name FROM stored_tokens')).rows).toEqual([{ name: TOKENS.tool }]);
    expect((await as(`SELECT sealed FROM stored_tokens WHERE name = '${TOKENS.provider}'`)).rows).toEqual([]);
  });

  it.each(SECRET_HOLDERS)('sees no token of a provider that somebody else names in a %s', async (kind) => {
    await workflowOf();
    for (const shared of [false, true]) {
      const found = (await here.alice.ok(here.alice.get('/api/tokens'))).find(
        ({ name }: { name: string }) => name === TOKENS.provider,
      );
      await here.alice.ok(here.alice.put(`/api/tokens/${found.id}`, { shared }));
      await named[kind](TOKENS.provider);
      expect((await as('SELECT name FROM stored_tokens')).rows).toEqual([{ name: TOKENS.tool }]);
    }
    const { rows } = await here.core.database.pool.query(
      'SELECT 1 FROM secret_grants WHERE token_name = $1 AND resource_kind = $2 AND granted_by = $3',
      [TOKENS.provider, kind, 'local:bob'],
    );
    expect(rows.length).toBeGreaterThan(0);
  });

  it('reads no prompt, item of a conversation, skill, system prompt or guardrail, in no column and by no function', async () => {
    const canary = (what: string) => `canary-${what}`;
    const skill = await here.alice.ok(
      here.alice.post('/api/skills', { name: canary('name'), instructions: canary('skill') }),
      201,
    );
    const guardrail = { name: 'g', guardrail_type: 'prompt', config: { forbidden_patterns: [canary('guardrail')] } };
    const { id: guardrail_id } = await here.alice.ok(here.alice.post('/api/guardrails', guardrail), 201);
    const { workflow_id } = await workflowOf();
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { system_prompt: canary('system') }));
    const settings = { skill_ids: [skill.id], guardrail_ids: [guardrail_id] };
    await here.alice.ok(here.alice.put(`/api/workflows/${workflow_id}`, settings));
    const items = [{ type: 'message', role: 'user', content: canary('item') }];
    await here.alice.ok(here.alice.post('/v1/conversations', { items }), 200);
    const task_id = await here.prompt(workflow_id, canary('prompt'));
    const written = async () =>
      (await here.core.database.pool.query('SELECT 1 FROM task_messages WHERE task_id = $1', [task_id])).rowCount;
    here.model.script(says(canary('reply')));
    await start('runs');
    await start('models');
    await until('the step is on record', async () => ((await written()) ?? 0) > 1);
    const columns = await as(
      `SELECT table_name AS at, column_name AS name FROM information_schema.columns c WHERE table_schema = current_schema()
        AND has_column_privilege(c.table_name::regclass, c.column_name::text, 'SELECT') AND has_schema_privilege('public', 'USAGE')`,
    );
    expect(columns.rows.length).toBeGreaterThan(100);
    const leaks: string[] = [];
    for (const { at, name } of columns.rows) {
      const { rows } = await as(`SELECT ${name}::text AS text FROM ${at} WHERE ${name}::text LIKE '%canary-%'`);
      if (rows.length > 0) leaks.push(`${at}.${name}: ${rows[0].text.slice(0, 100)}`);
    }
    const bodies = await as('SELECT definition_for_calls(hash)::text AS text FROM definitions');
    expect(bodies.rows.length).toBeGreaterThan(0);
    leaks.push(...bodies.rows.map(({ text }) => text).filter((text) => text.includes('canary-')));
    // The answer of a run is for graders.
    expect(leaks.filter((leak) => !leak.startsWith('tasks.response: '))).toEqual([]);
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed' });
  }, 120_000);

  it('writes no message but results of tools', async () => {
    const values = `SELECT id, 1, 99, 'user', 'prompt', 'forged' FROM tasks LIMIT 1`;
    await expect(as(`INSERT INTO task_messages (task_id, step, position, role, kind, content) ${values}`)).rejects.toThrow(
      /row-level security/,
    );
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
    'SELECT body FROM definitions',
    'SELECT system_prompt FROM agents',
    'SELECT instructions FROM skills',
    'SELECT item FROM conversation_items',
    'SELECT config FROM guardrails',
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

  it('reports its worker again and again, and takes it off the list', async () => {
    const database = openDatabase({ url: limited_url });
    const workers = workerBeatStore(database);
    const worker = { id: uuid(), name: '7@tools', version: '0', build_id: null, roles: ['tools'], slots: 11, disk_free: 13 };
    const used = () => here.sql('SELECT used FROM worker_beats WHERE id = $1', worker.id);
    await workers.beat({ ...worker, used: 2 });
    await workers.beat({ ...worker, used: 3 });
    expect(await used()).toEqual([{ used: 3 }]);
    await workers.leave(worker.id);
    expect(await used()).toEqual([]);
    await database.close();
  });

  it('loses what it was given before', async () => {
    await asOperator(here.setting.database_url, (operator) => operator.query(`GRANT ALL ON providers TO ${TOOLS_ROLE}`));
    await as('SELECT * FROM providers');
    await migrateRole(TOOLS_ROLE);
    expect(await as('SELECT * FROM providers').then(() => 'read', String)).toContain('permission denied');
  });

  it('may create nothing, also in a database in which everyone could, as with Postgres 14', async () => {
    const ask = (sql: string) => asOperator(here.setting.database_url, (operator) => operator.query(sql));
    await ask('GRANT CREATE ON SCHEMA public TO PUBLIC');
    await as('CREATE TABLE mine (a int)');
    await migrateRole(TOOLS_ROLE);
    await expect(as('CREATE TABLE more (a int)')).rejects.toThrow(/permission denied for schema public/);
    const other = `${TOOLS_ROLE}_group`;
    await ask(`CREATE ROLE ${other}; GRANT CREATE ON SCHEMA public TO ${other}; GRANT ${other} TO ${TOOLS_ROLE}`);
    expect(await migrateRole(TOOLS_ROLE)).toContain(
      `The role ${TOOLS_ROLE} may create tables and functions in the schema public`,
    );
    await ask(`DROP OWNED BY ${other}; DROP ROLE ${other}; DROP TABLE mine`);
  });

  it('must exist and be restricted', async () => {
    expect(await migrateRole('nobody_of_this_name')).toMatch(/has no role nobody_of_this_name; create it first: CREATE ROLE/);
    const { username } = new URL(here.setting.database_url);
    expect(await migrateRole(username)).toContain(`The role ${username} may read everything`);
  });
});

it.each([
  ['spare', /^perdura worker: --role: spare is not one of runs, models, tools, all$/m],
  ['', /^perdura worker: --role: an empty name is not one of/m],
])('a worker refuses the role "%s" with one sentence', async (role, sentence) => {
  const worker = perdura('worker', envOf(here.setting), ['--role', role]);
  expect(await worker.ended).toEqual([2, null]);
  expect(worker.output()).toMatch(sentence);
});

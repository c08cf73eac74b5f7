import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findOutage } from '../../src/domain/outages.ts';
import { createActivityPorts } from '../../src/main/wiring/runs/index.ts';
import { ParserFailure } from '../../src/parsers/failure.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { resultsOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

const UNKNOWN = '01900000-0000-7000-8000-000000000000';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { TOOL_ISOLATION: 'none' } });
});
afterAll(() => here.stop());

it('each step of a run sends the key of its provider, and is on record as one use of it', async () => {
  const { id } = await here.alice.ok(here.alice.post('/api/tokens', { name: 'key', value: 'sk-of-the-provider' }));
  const workflow_id = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { provider_id } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { api_key_token_name: 'key' }));
  const todo = { name: 'manage_todo_list', args: { todoList: [] } };
  here.model.script(asks(todo), asks(todo), says('Done.'));
  const before = here.model.requests.length;
  const task_id = await here.prompt(workflow_id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
  const sent = here.model.requests.slice(before).map(({ authorization }) => authorization);
  expect(sent).toEqual(Array(3).fill('Bearer sk-of-the-provider'));
  const uses = await here.alice.ok(here.alice.get(`/api/tokens/${id}/uses`));
  expect(uses).toMatchObject(Array(3).fill({ task_id, granted: true, resource_kind: 'provider', resource_id: provider_id }));
});

/** What a call needs before its tool runs, and how the installation comes to lack it. */
const LACKS: Record<string, () => Promise<() => Promise<unknown>>> = {
  async 'the database does not find out whether its token is granted'() {
    await here.core.database.pool.query('ALTER TABLE secret_grants RENAME TO absent_grants');
    return () => here.core.database.pool.query('ALTER TABLE absent_grants RENAME TO secret_grants');
  },
  async 'the parsers that check its arguments are busy'() {
    const { parsers } = here.core;
    const { run } = parsers;
    parsers.run = () => Promise.reject(new ParserFailure('busy', 'others are being read; try again shortly'));
    return async () => {
      parsers.run = run;
    };
  },
};

it.each(Object.keys(LACKS))('a call is held while %s, which is no error of its tool', async (what) => {
  const name = `held_${Object.keys(LACKS).indexOf(what)}`;
  await here.alice.ok(here.alice.post('/api/tokens', { name, value: 'the value' }));
  const source_code = `import os\ndef ${name}() -> int:\n    return len(os.environ["KEY"])\n`;
  const tool = { name, source_code, env_config: { KEY: { token_name: name } } };
  const { id } = await here.alice.ok(here.alice.post('/api/custom-tools', tool));
  const workflow_id = await here.workflow({ agent: { custom_tool_ids: [id] } });
  let giveBack: () => Promise<unknown> = async () => {};
  here.model.script(async (...request) => {
    giveBack = await LACKS[what]!();
    return asks({ name })(...request);
  }, says('Done.'));
  const task_id = await here.prompt(workflow_id);
  const retries = async () =>
    (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).logs.filter(
      ({ event }: { event: string }) => event === 'retry',
    ).length;
  const errors = 'SELECT errors FROM tool_calls WHERE task_id = $1';
  try {
    await until('the call is tried again', async () => (await retries()) > 0);
    expect((await here.core.database.pool.query(errors, [task_id])).rows).toEqual([{ errors: 0 }]);
  } finally {
    await giveBack();
  }
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', error: null });
  expect(await resultsOf(here, workflow_id)).toEqual(['{"result": 9}']);
});

it('a token is opened within the time of the statements of a run, which is shorter than that of others', async () => {
  const { database, store } = here.core;
  const operator = new pg.Client({ connectionString: here.setting.database_url });
  await operator.connect();
  const failed: string[] = [];
  const note = (what: string) => (error: unknown) => {
    failed.push(what);
    return findOutage(error)?.code;
  };
  try {
    await operator.query('BEGIN; LOCK TABLE token_uses IN ACCESS EXCLUSIVE MODE');
    const other = database.pool.query('SELECT count(*) FROM token_uses').then(() => 'counted', note('another statement'));
    const destination = { kind: 'provider', id: UNKNOWN, name: 'p', label: 'p', facts: {} } as const;
    const opened = store.tokens.open({ name: 'key', principal: 'local:alice', destination }).catch(note('the token'));
    expect(await opened).toBe('database_unavailable');
    expect(failed).toEqual(['the token']);
    await operator.query('ROLLBACK');
    expect(await other).toBe('counted');
  } finally {
    await operator.end();
  }
});

it('an attempt that did not get its step uses no key', async () => {
  const { id } = await here.alice.ok(here.alice.post('/api/tokens', { name: 'unused', value: 'sk-of-the-provider' }));
  const workflow_id = await here.workflow();
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { provider_id } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { api_key_token_name: 'unused' }));
  here.model.script(says('Done.'));
  const task_id = await here.prompt(workflow_id);
  await here.ended(task_id);
  const uses = () => here.alice.ok(here.alice.get(`/api/tokens/${id}/uses`));
  expect(await uses()).toHaveLength(1);

  const { ports, unwatch } = await createActivityPorts(here.core, here.driver);
  const run = (await here.core.store.runs.open(task_id, 1))!;
  const lost = Promise.reject(new Error('Another attempt has the step'));
  await expect(ports.openRuntime(run, await ports.definition(run.definition_hash), lost)).rejects.toThrow();
  await unwatch();
  expect(await uses()).toHaveLength(1);
});

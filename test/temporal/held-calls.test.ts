import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findOutage } from '../../src/domain/outages.ts';
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

/** What a call needs before its tool runs, and how the installation comes to lack it. */
const LACKS: Record<string, () => Promise<() => Promise<unknown>>> = {
  async 'the database does not find out whether its token is granted'() {
    await here.sql('ALTER TABLE secret_grants RENAME TO absent_grants');
    return () => here.sql('ALTER TABLE absent_grants RENAME TO secret_grants');
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
    expect(await here.sql(errors, task_id)).toEqual([{ errors: 0 }]);
  } finally {
    await giveBack();
  }
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', error: null });
  expect(await resultsOf(here, workflow_id)).toEqual(['{"result": 9}']);
});

it('a token is opened within the time of the statements of a run, which is shorter than that of others', async () => {
  const { database, store } = here.core;
  await here.alice.ok(here.alice.post('/api/tokens', { name: 'held', value: 'the value' }));
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
    const opened = store.tokens.open({ name: 'held', principal: 'local:alice', destination }).catch(note('the token'));
    expect(await opened).toBe('database_unavailable');
    expect(failed).toEqual(['the token']);
    await operator.query('ROLLBACK');
    expect(await other).toBe('counted');
  } finally {
    await operator.end();
  }
});

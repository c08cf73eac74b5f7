import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../support/database/database.ts';
import { asOperator } from '../support/database/operator.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { perdura } from '../support/machine/processes.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { type PgBouncer, pgbouncerIsInstalled, startPgBouncer } from '../support/peers/pgbouncer.ts';
import { until } from '../support/until.ts';

const missing = !pgbouncerIsInstalled();
if (missing) console.log('Tests behind PgBouncer are left out: install pgbouncer');

describe.skipIf(missing)('behind PgBouncer, which shares connections between transactions,', () => {
  let pooler: PgBouncer;
  let database: TestDatabase;
  let here: TestInstallation;
  beforeAll(async () => {
    pooler = await startPgBouncer(inject('postgres_url'));
    database = await testDatabase();
    const setting = { database_url: pooler.through(database.url), direct_database_url: database.url };
    here = await startTestInstallation({ setting });
  });
  afterAll(async () => {
    await here?.stop();
    await pooler?.stop();
    await database?.drop();
  });

  /** The answer to a prompt and how the run ends, from its stream. */
  async function answerOf(workflow_id: string): Promise<unknown[]> {
    const task_id = await here.prompt(workflow_id);
    const events = await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`);
    const message = events.filter(({ type }) => type === 'message').at(-1);
    return [message?.data.content, events.at(-1)?.data.status];
  }

  it('runs call models and tools, several at a time, and their streams end with the answer', { timeout: 60_000 }, async () => {
    const first = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
    here.model.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }), says('All of it.'));
    expect(await answerOf(first)).toEqual(['All of it.', 'completed']);
    const workflows = await Promise.all([1, 2, 3, 4, 5, 6].map(() => here.workflow()));
    here.model.script(...workflows.map(() => says('All of it.')));
    expect(await Promise.all(workflows.map(answerOf))).toEqual(workflows.map(() => ['All of it.', 'completed']));
  });

  it('a halt reaches the model', { timeout: 60_000 }, async () => {
    const workflow_id = await here.workflow();
    here.model.script(hangs());
    const asked = here.model.requests.length;
    const task_id = await here.prompt(workflow_id);
    await until('the model is asked', async () => here.model.requests.length > asked);
    expect((await here.alice.post(`/api/tasks/${task_id}/stop`)).status).toBe(202);
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
  });

  it('a statement that takes its time is not taken for lost, although Postgres knows its connection by another id', async () => {
    const { rows } = await here.core.database.pool.query('SELECT pg_sleep(2), 7 AS seven');
    expect(rows).toEqual([{ pg_sleep: '', seven: 7 }]);
  });

  it('only LISTEN goes to Postgres itself', async () => {
    expect(new Set(await pooler.applications())).toEqual(new Set(['perdura', '']));
    const direct = await asOperator(database.url, (operator) =>
      operator.query("SELECT 1 FROM pg_stat_activity WHERE application_name = 'perdura events' AND datname = current_database()"),
    );
    expect(direct.rowCount).toBe(1);
  });

  it('a start without the direct address names the setting', async () => {
    const started = perdura('worker', {
      DATABASE_URL: pooler.through(database.url),
      TEMPORAL_ADDRESS: inject('temporal_address'),
      ENCRYPTION_KEYS: here.setting.encryption_keys,
      PERDURA_HOME: here.setting.config.PERDURA_HOME,
    });
    expect(await started.closed).toEqual([1, null]);
    expect(started.output()).toMatch(/unsupported startup parameter.*set DATABASE_DIRECT_URL to the address of Postgres itself/);
  });
});

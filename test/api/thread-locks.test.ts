import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lockWorkflow, removeWorkflow } from '../../src/store/resources/workflows.sql.ts';
import { type TestDatabase, testDatabase } from '../support/database/database.ts';
import { until } from '../support/until.ts';

const WORKFLOW = '0197a0c4-0000-7000-8000-000000000001';
const AGENT = '0197a0c4-0000-7000-8000-000000000002';
const THREAD = '0197a0c4-0000-7000-8000-000000000003';

let place: TestDatabase;
let writer: pg.Client;
let remover: pg.Client;
beforeAll(async () => {
  place = await testDatabase();
  [writer, remover] = await Promise.all([connected(), connected()]);
});
afterAll(async () => {
  await Promise.all([writer, remover].map((client) => client.end()));
  await place.drop();
});

async function connected(): Promise<pg.Client> {
  const client = new pg.Client(place.url);
  await client.connect();
  return client;
}

/** Whether a statement on another connection waits for what the writer holds. */
const somebodyWaits = async () => {
  const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`;
  return (await writer.query(waiting)).rows.length > 0;
};

it('a workflow is deleted once the turn that ends in one of its threads has changed both', async () => {
  await writer.query(`INSERT INTO agents (id, name, created_by) VALUES ($1, 'a', 'local:alice')`, [AGENT]);
  await writer.query(`INSERT INTO workflows (id, agent_id, owner, owner_login) VALUES ($1, $2, 'local:alice', 'alice')`, [
    WORKFLOW,
    AGENT,
  ]);
  await writer.query(`INSERT INTO threads (id, owner, owner_login, workflow_id) VALUES ($1, 'local:alice', 'alice', $2)`, [
    THREAD,
    WORKFLOW,
  ]);
  // As end_task does: first the thread, then its workflow.
  await writer.query('BEGIN');
  await writer.query('SELECT 1 FROM threads WHERE id = $1 FOR NO KEY UPDATE', [THREAD]);
  const remove = async () => {
    await remover.query('BEGIN');
    await remover.query(lockWorkflow({ id: WORKFLOW }));
    const gone = await remover.query(removeWorkflow({ id: WORKFLOW }));
    await remover.query('COMMIT');
    return gone;
  };
  const removed = remove();
  removed.catch(() => {});
  await until('the deletion waits', somebodyWaits);
  await writer.query(`UPDATE workflows SET last_task_status = 'completed' WHERE id = $1`, [WORKFLOW]);
  await writer.query('COMMIT');
  expect((await removed).rows).toEqual([{ id: WORKFLOW }]);
  expect((await writer.query('SELECT id FROM threads')).rows).toEqual([]);
});

import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { eventStore } from '../../src/store/events.ts';
import { keyRing } from '../../src/store/key-ring.ts';
import { tokenStore } from '../../src/store/tokens.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';

let place: TestDatabase;
let database: Database;

beforeAll(async () => {
  place = await testDatabase();
  database = openDatabase({ url: place.url });
});
afterAll(async () => {
  await database.close();
  await place.drop();
});

describe('opening a stored token', () => {
  const keys = keyRing(`k:${randomBytes(32).toString('base64')}`);
  const asked = (name: string, principal: string) => ({ name, principal, purpose: 'model provider' });

  it('answers its value to its creator, a refusal to others, and keeps every attempt', async () => {
    const tokens = tokenStore(database, keys);
    await tokens.create({ name: 'key', value: 'secret' }, 'local:alice');
    expect(await tokens.open(asked('key', 'local:alice'))).toEqual({ value: 'secret' });
    expect(await tokens.open(asked('key', 'local:bob'))).toEqual({ refusal: expect.stringContaining('belongs to someone else') });
    expect(await tokens.open(asked('none', 'local:bob'))).toEqual({ refusal: 'There is no stored token named none' });
    const uses = await database.prisma.tokenUse.findMany({ orderBy: { id: 'asc' } });
    expect(uses.map(({ token_name, principal, granted }) => [token_name, principal, granted])).toEqual([
      ['key', 'local:alice', true],
      ['key', 'local:bob', false],
      ['none', 'local:bob', false],
    ]);
  });
});

describe("reading a task's events", () => {
  it('finds them among those of other tasks, and none through a workflow they are not of', async () => {
    const { workflow, other, first, second } = await written();
    const events = eventStore(database.pool);
    const of = (workflow_id: string, task_id?: string) => events.read(workflow_id, { after: 0, task_id });
    expect((await of(workflow)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect((await of(workflow, first)).map(({ seq }) => seq)).toEqual([1, 3]);
    expect((await of(workflow, second)).map(({ seq }) => seq)).toEqual([2]);
    expect(await of(other, first)).toEqual([]);
  });
});

/** Two workflows; the first has two tasks whose events alternate. */
async function written() {
  const { prisma, pool } = database;
  const [agent, workflow, other, first, second] = Array.from({ length: 5 }, () => randomUUID()) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const who = { owner: 'local:alice', owner_login: 'alice' };
  await prisma.agent.create({ data: { id: agent, name: 'reader', created_by: who.owner } });
  for (const id of [workflow, other]) await prisma.workflow.create({ data: { id, agent_id: agent, ...who } });
  await pool.query(`INSERT INTO definitions (hash, body) VALUES ('h', '{}')`);
  for (const id of [first, second]) {
    const task = { id, workflow_id: workflow, prompt: 'p', definition_hash: 'h', agent_id: agent, agent_name: 'reader' };
    await prisma.task.create({ data: { ...task, ...who, on_busy: 'enqueue', trigger: 'prompt' } });
  }
  const told = (task_id: string) =>
    pool.query('SELECT append_events($1, $2, $3)', [
      workflow,
      task_id,
      JSON.stringify([{ type: 'log', data: {}, timestamp: '2026-01-01T00:00:00Z' }]),
    ]);
  for (const task_id of [first, second, first]) await told(task_id);
  return { workflow, other, first, second };
}

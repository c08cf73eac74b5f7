import { randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createMcpCalls } from '../../src/api/compat/mcp/calls.ts';
import { providerDestination, tokenReferences } from '../../src/domain/destinations.ts';
import { AppError, conflict, type ErrorKind } from '../../src/domain/errors.ts';
import { type Database, inTransaction } from '../../src/store/database/database.ts';
import { idempotencyStore } from '../../src/store/database/idempotency.ts';
import { statement } from '../../src/store/database/statement.ts';
import { createStore } from '../../src/store/index.ts';
import { eventStore } from '../../src/store/runs/events.ts';
import { setTaskBudget } from '../../src/store/runs/pauses.sql.ts';
import { pendingWebhooks } from '../../src/store/runs/webhooks.sql.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { functionsForTools } from '../../src/store/upkeep/tools-role.ts';
import { openTestDatabase } from '../support/database/database.ts';
import { allStatements } from '../support/database/statements.ts';

let database: Database;

const source = (folder: URL, file: string) => readFileSync(new URL(file, folder), 'utf8');

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

describe('the statements of the store', () => {
  it('are all accepted by Postgres', async () => {
    const statements = await allStatements();
    expect(statements.length).toBeGreaterThan(70);
    const extension = await database.pool.query("SELECT 1 FROM pg_extension WHERE extname = 'vector'");
    const usable = statements.filter(({ name }) => extension.rows.length > 0 || name !== 'search_passages_extended');
    // `perdura migrate --tools-role` makes these, where there is such a role.
    for (const functionForTools of functionsForTools()) await database.pool.query(functionForTools);
    const refused: string[] = [];
    for (const { name, text } of usable)
      await database.pool.query(`PREPARE checked_${name} AS ${text}`).catch((error) => refused.push(`${name}: ${error.message}`));
    expect(refused).toEqual([]);
  });

  it('are exported under their names in Postgres, each name once', async () => {
    const statements = await allStatements();
    const snake = (exported: string) => exported.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    expect(statements.filter(({ exported, name }) => snake(exported) !== name)).toEqual([]);
    expect(new Set(statements.map(({ name }) => name)).size).toBe(statements.length);
  });

  it('are all in *.sql.ts files', () => {
    const store = new URL('../../src/store/', import.meta.url);
    const files = readdirSync(store, { recursive: true, encoding: 'utf8' }).filter(
      (file) => /\.ts$/.test(file) && !/\.sql\.ts$|database\/statement\.ts$/.test(file),
    );
    const elsewhere = files.filter((file) =>
      /\bstatement\(|\btext: *[`'"]|\.query\([`'"](?!BEGIN|COMMIT|ROLLBACK)|\$(query|execute)Raw/.test(source(store, file)),
    );
    // Prisma's own connection sends prepared statements as raw SQL. Migrations run before any statement can be prepared.
    expect(elsewhere.sort()).toEqual(['database/database.ts', 'database/migrations.ts']);
  });

  it('take each value by its name', () => {
    const add = statement('add', ['b', 'a'], `SELECT :a::int + :b, ':b', "x:a", now()::date, :a`);
    expect(add({ a: 1, b: 2 })).toEqual({
      name: 'add',
      text: `SELECT $2::int + $1, ':b', "x:a", now()::date, $2`,
      values: [2, 1],
    });
    expect(statement('none', [], 'SELECT 1')()).toEqual({ name: 'none', text: 'SELECT 1', values: [] });
  });

  it('are refused when text and names differ, at load and by the compiler', () => {
    expect(() => statement('s', ['a'], 'SELECT :a, :b')).toThrow('The statement s uses :b, which is not among its parameters');
    expect(() => statement('s', ['a', 'b'], 'SELECT :a')).toThrow('The statement s does not use its parameters b');
    expect(() => statement('s', [], 'SELECT $1')).toThrow('The statement s has the position $1; give it a name');
    // @ts-expect-error: a name is missing
    setTaskBudget({ task_id: 'x' });
    // @ts-expect-error: a name is misspelt
    setTaskBudget({ task_id: 'x', bugdet: null });
    // @ts-expect-error: JSON is passed as text
    setTaskBudget({ task_id: 'x', budget: {} });
    // @ts-expect-error: it takes nothing
    pendingWebhooks({ id: 'x' });
  });
});

describe('opening a stored token', () => {
  const keys = keyRing(`k:${randomBytes(32).toString('base64')}`);
  const provider = { id: randomUUID(), name: 'p', provider_type: 'openai', base_url: 'https://one.example' };
  const rest = { auth_type: 'bearer', azure_api_version: null, azure_deployment: null };
  const at = (more: object = {}) => ({ ...provider, ...rest, ...more });
  const ask = (name: string, principal: string, more: object = {}) => ({
    name,
    principal,
    destination: providerDestination(at(more)),
  });

  it('answers its value for what its owner granted, a refusal otherwise, and keeps every attempt', async () => {
    const { tokens, grants } = createStore({ database, keys });
    const wanted = tokenReferences.provider({ ...at(), api_key_token_name: 'key' });
    await tokens.create({ name: 'key', value: 'secret' }, 'local:alice');
    await grants.renew('local:bob', { kind: 'provider', id: provider.id }, wanted);
    await expect(tokens.open(ask('key', 'local:alice'))).rejects.toMatchObject({ code: 'secret_not_granted' });
    await grants.renew('local:alice', { kind: 'provider', id: provider.id }, wanted);
    expect(await tokens.open(ask('key', 'local:alice'))).toBe('secret');
    await expect(tokens.open(ask('key', 'local:bob'))).rejects.toThrow(/belongs to someone else and is not shared/);
    await expect(tokens.open(ask('none', 'local:bob'))).rejects.toThrow('There is no stored token named none');
    for (const elsewhere of [{ id: randomUUID() }, { base_url: 'https://other.example' }, { auth_type: 'x-api-key' }])
      await expect(tokens.open(ask('key', 'local:alice', elsewhere))).rejects.toMatchObject({ code: 'secret_not_granted' });
    const uses = await database.prisma.tokenUse.findMany({ orderBy: { id: 'asc' } });
    expect(uses.map(({ token_name, principal, granted }) => [token_name, principal, granted])).toEqual([
      ['key', 'local:alice', false],
      ['key', 'local:alice', true],
      ['key', 'local:bob', false],
      ['none', 'local:bob', false],
      ...Array(3).fill(['key', 'local:alice', false]),
    ]);
    expect(uses[0]).toMatchObject({ resource_kind: 'provider', resource_name: 'p', destination_label: 'one.example' });
  });
});

describe('a request that is withdrawn while it is being served', () => {
  const key = (name: string) => ({ principal: 'local:alice', key: name });

  it('is known to the server, and is never returned', async () => {
    const requests = idempotencyStore(database.prisma);
    await requests.claim(key('early'), 'hash');
    expect(await requests.withdraw(key('early'))).toBe(true);
    expect(await requests.keep(key('early'), { task_id: 'x' })).toEqual({ kind: 'withdrawn' });
    expect(await requests.claim(key('early'), 'hash')).toEqual({ kind: 'busy' });
  });

  it('is too late once it is answered', async () => {
    const requests = idempotencyStore(database.prisma);
    await requests.claim(key('late'), 'hash');
    expect(await requests.keep(key('late'), { task_id: 'x' })).toEqual({ kind: 'kept' });
    expect(await requests.withdraw(key('late'))).toBe(false);
    expect(await requests.claim(key('late'), 'hash')).toEqual({ kind: 'replay', reply: { task_id: 'x' } });
  });

  it('has its run halted if it is a call of MCP, and no other run', async () => {
    const id = randomUUID();
    const begun: string[] = [];
    const halted: string[] = [];
    const cancelled = Promise.withResolvers<void>();
    const calls = createMcpCalls({
      store: {
        idempotency: idempotencyStore(database.prisma),
        tasks: { find: async () => null },
        workflows: { find: async () => ({ id, owner_key: 'local:alice' }) },
      },
      attach: async () => [],
      dispatch: {
        async prompt({ task_id }: { task_id: string }) {
          begun.push(task_id);
          await cancelled.promise;
        },
        halt: async (task_id: string) => void halted.push(task_id),
      },
    } as unknown as Parameters<typeof createMcpCalls>[0]);
    const caller = { key: 'local:alice', login: 'alice', access_token: '' } as never;
    const place = (request_id: number) => ({ session_id: 'session', request_id, caller });
    const runs = [7, 8].map((request_id) => calls.begin(place(request_id), { model: id, prompt: 'x' }, caller));
    await vi.waitFor(() => expect(begun).toHaveLength(2));
    await calls.cancel(place(8));
    // Nothing to halt is on record yet.
    expect(halted).toEqual([]);
    cancelled.resolve();
    const [, { task_id }] = (await Promise.all(runs)) as [unknown, { task_id: string }];
    expect(halted).toEqual([task_id]);
  });
});

it('a request that was refused may be sent again with its key', async () => {
  const requests = idempotencyStore(database.prisma);
  const key = { principal: 'local:alice', key: 'refused' };
  await requests.claim(key, 'hash');
  await requests.failed(key, conflict('The name is taken'), { claim: 1 });
  expect(await requests.claim(key, 'other')).toMatchObject({ kind: 'new' });
});

/** The kinds of refusals, with true for those after which a dependency may have done its part. */
const MAY_BE_DONE: Record<ErrorKind, boolean> = {
  ...{ invalid: false, unauthorized: false, forbidden: false, not_found: false, not_acceptable: false, conflict: false },
  ...{ precondition: false, timeout: false, too_large: false, too_many: false, unsupported: false, unprocessable: false },
  ...{ upstream: true, unavailable: true },
};

it.each(Object.entries(MAY_BE_DONE))('a request that fails as %s is repeated under its first id: %s', async (kind, is_kept) => {
  const requests = idempotencyStore(database.prisma);
  const key = { principal: 'local:alice', key: `fails as ${kind}` };
  const first = (await requests.claim(key, 'hash')) as { reserved_id: string };
  await requests.failed(key, new AppError(kind as ErrorKind, 'x'), { claim: 1 });
  const again = (await requests.claim(key, 'hash')) as { reserved_id: string };
  expect(again).toMatchObject({ kind: 'new', claim: is_kept ? 2 : 1 });
  expect(again.reserved_id === first.reserved_id).toBe(is_kept);
});

it('a request that failed at an unknown point is resumed under its first id', async () => {
  const requests = idempotencyStore(database.prisma);
  const key = { principal: 'local:alice', key: 'failed' };
  const first = await requests.claim(key, 'hash');
  expect(await requests.claim(key, 'hash')).toEqual({ kind: 'busy' });
  await requests.failed(key, new Error('Connection terminated'), { claim: 1 });
  expect(await requests.claim(key, 'other')).toEqual({ kind: 'mismatch' });
  expect(await requests.claim(key, 'hash')).toEqual({ ...first, claim: 2 });
});

it('a request that another server resumed has one answer, whichever server ends it first', async () => {
  const requests = idempotencyStore(database.prisma);
  const key = { principal: 'local:alice', key: 'frozen' };
  await requests.claim(key, 'hash');
  expect(await requests.keep(key, { id: 'of the server that resumed it' })).toEqual({ kind: 'kept' });
  const late = await requests.keep(key, { id: 'of the server that was frozen' });
  expect(late).toEqual({ kind: 'answered', reply: { id: 'of the server that resumed it' } });
});

it('a try that another one has overtaken neither frees the key nor deletes it', async () => {
  const requests = idempotencyStore(database.prisma);
  const key = { principal: 'local:alice', key: 'overtaken' };
  await requests.claim(key, 'hash');
  await requests.failed(key, new Error('Connection terminated'), { claim: 1 });
  expect(await requests.claim(key, 'hash')).toMatchObject({ kind: 'new', claim: 2 });
  for (const error of [conflict('The name is taken'), new Error('Connection terminated')]) {
    await requests.failed(key, error, { claim: 1 });
    expect(await requests.claim(key, 'hash')).toEqual({ kind: 'busy' });
  }
});

describe('a transaction', () => {
  it('fails, and nothing else does, when its connection is lost', async () => {
    const lost = inTransaction(database.pool, async (on) => {
      const { rows } = await on.query({ text: 'SELECT pg_backend_pid() AS pid' });
      await database.pool.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
      await new Promise((resolve) => setTimeout(resolve, 200));
      await on.query({ text: 'SELECT 1' });
    });
    await expect(lost).rejects.toThrow();
    expect((await database.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });
});

describe("reading a task's events", () => {
  it('finds them among the events of other tasks, and none through another workflow', async () => {
    const { workflow, other, first, second } = await written();
    const events = eventStore(database.pool);
    const of = async (workflow_id: string, task_id?: string) =>
      (await events.read(workflow_id, { after: 0, task_id, bytes: 10_000 })).events.map(({ seq }) => seq);
    expect(await of(workflow)).toEqual([1, 2, 3]);
    expect(await of(workflow, first)).toEqual([1, 3]);
    expect(await of(workflow, second)).toEqual([2]);
    expect(await of(other, first)).toEqual([]);
  });
  it('carries as many as fit into a page, at least one, and large ones without their data', async () => {
    const { workflow, first } = await written();
    const large = [...'abcdefghijklmnop'].map((letter) => letter.repeat(10_000)).join('');
    const texts = ['x'.repeat(5_000), 'y'.repeat(5_000), large, randomBytes(60_000).toString('hex'), 'z'];
    const added = texts.map((detail) => ({ type: 'log', data: { detail }, timestamp: new Date().toISOString() }));
    await database.pool.query('SELECT append_events($1, $2, $3)', [workflow, first, JSON.stringify(added)]);
    const events = eventStore(database.pool);
    const page = async (bytes: number, limit = 100) => {
      const { events: found, more, ...rest } = await events.read(workflow, { after: 3, limit, bytes });
      return { read: found.map(({ seq, data }) => [seq, data !== null]), more, ...rest };
    };
    expect(await page(1)).toEqual({ read: [[4, true]], more: true, bytes: 5_014 });
    expect(await page(5_015)).toEqual({
      read: [
        [4, true],
        [5, true],
      ],
      more: true,
      bytes: 10_028,
    });
    const all = [
      [4, true],
      [5, true],
      [6, false],
      [7, false],
      [8, true],
    ];
    expect(await page(50_000)).toEqual({ read: all, more: false, bytes: 10_043 });
    expect(await page(50_000, 3)).toEqual({ read: all.slice(0, 3), more: true, bytes: 10_028 });
    expect((await events.one(workflow, 6))?.data).toEqual({ detail: large });
    expect(await events.one(workflow, 9)).toBe(null);
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
  await prisma.agent.create({ data: { id: agent, name: `reader ${agent}`, created_by: who.owner } });
  for (const id of [workflow, other]) await prisma.workflow.create({ data: { id, agent_id: agent, ...who } });
  await pool.query(`INSERT INTO definitions (hash, body) VALUES ('h', '{}') ON CONFLICT DO NOTHING`);
  for (const id of [first, second]) {
    const task = { id, workflow_id: workflow, prompt: 'p', definition_hash: 'h', agent_id: agent, agent_name: 'reader' };
    await prisma.task.create({ data: { ...task, ...who, on_busy: 'enqueue', trigger: 'prompt' } });
  }
  const append = (task_id: string) =>
    pool.query('SELECT append_events($1, $2, $3)', [
      workflow,
      task_id,
      JSON.stringify([{ type: 'log', data: {}, timestamp: '2026-01-01T00:00:00Z' }]),
    ]);
  for (const task_id of [first, second, first]) await append(task_id);
  return { workflow, other, first, second };
}

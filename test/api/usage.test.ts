import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isTerminal } from '../../src/domain/statuses.ts';
import type { Client } from '../support/client.ts';
import { type SecretWorld, startSecretWorld } from '../support/contract/secret-world.ts';
import { asks, fails, says } from '../support/peers/model-server.ts';
import { openEvaluations } from '../support/runs/evaluations.ts';
import { until } from '../support/until.ts';

const PRICES = { '*': { input: 2, output: 10 } };
const DOUBLED = 'def doubled(n: int) -> int:\n    """Doubles."""\n    return n * 2\n';
const BROKEN = 'def broken(n: int) -> int:\n    """Fails."""\n    raise ValueError("no")\n';

let world: SecretWorld;
let made = 0;

/** An agent of a person with its own priced provider, and a workflow of it. */
async function workflowOf(client: Client, tools: string[] = []): Promise<{ id: string; agent: string; provider: string }> {
  const number = ++made;
  const values = {
    provider_type: 'openai_compatible',
    base_url: world.model.url,
    default_model: 'scripted',
    price_table: PRICES,
  };
  const provider = await client.ok(client.post('/api/providers', { name: `paid ${number}`, ...values }), 201);
  const agent = { name: `worker ${number}`, provider_id: provider.id, custom_tool_ids: tools };
  const { id: agent_id } = await client.ok(client.post('/api/agents', agent), 201);
  const { id } = await client.ok(client.post('/api/workflows', { agent_id, output_format: 'markdown' }), 201);
  return { id, agent: agent_id, provider: provider.id };
}

async function run(client: Client, id: string): Promise<string> {
  const { task_id } = await client.ok(client.post(`/api/workflows/${id}/prompt`, { prompt: 'Do it.' }), 201);
  await until('its end', async () => isTerminal((await client.ok(client.get(`/api/tasks/${task_id}`))).status));
  return task_id;
}

const toolNamed = async (source_code: string) =>
  (await world.alice.ok(world.alice.post('/api/custom-tools', { name: /def (\w+)/.exec(source_code)![1], source_code }), 201))
    .id as string;

const read = async (client: Client, path: string) => (await client.ok(client.get(path))).rows as Record<string, any>[];
const sql = async (text: string) => (await world.core.database.pool.query(text)).rows as Record<string, any>[];

/** The same counts from the tasks. */
const RECORDED = `SELECT count(*)::int AS runs, count(*) FILTER (WHERE status = 'completed')::int AS completed,
  count(*) FILTER (WHERE status = 'failed')::int AS failed, count(*) FILTER (WHERE status = 'halted')::int AS halted,
  sum(total_in)::int AS total_in, sum(total_out)::int AS total_out, sum(cost) AS cost FROM tasks WHERE completed_at IS NOT NULL`;

let first: Awaited<ReturnType<typeof workflowOf>>;
let second: typeof first;
let of_bob: typeof first;

beforeAll(async () => {
  world = await startSecretWorld();
  first = await workflowOf(world.alice, [await toolNamed(DOUBLED), await toolNamed(BROKEN)]);
  second = await workflowOf(world.alice);
  of_bob = await workflowOf(world.bob);
  world.model.script(asks({ name: 'doubled', args: { n: 2 } }, { name: 'broken', args: { n: 2 } }), says('Four.'));
  await run(world.alice, first.id);
  world.model.script(fails(400));
  await run(world.alice, second.id);
  world.model.script(says('Hello.'));
  await run(world.bob, of_bob.id);
});
afterAll(() => world.stop());

describe('usage', () => {
  it('is exactly what the tasks say, by any group and interval', async () => {
    const [recorded] = await sql(`${RECORDED} AND owner = 'local:alice'`);
    expect(recorded).toMatchObject({ runs: 2, completed: 1, failed: 1 });
    expect(recorded!.cost).toBeGreaterThan(0);
    const [all] = await read(world.alice, '/api/usage');
    expect(all).toMatchObject({ key: '', label: null, at: null, ...recorded, cost: expect.closeTo(recorded!.cost) });
    for (const by of ['agent', 'workflow', 'model', 'provider', 'trigger'])
      for (const interval of ['', '&interval=hour', '&interval=day&zone=Asia/Tokyo', '&most=1']) {
        const rows = await read(world.alice, `/api/usage?by=${by}${interval}`);
        const sum = (field: string) => rows.reduce((total, row) => total + row[field], 0);
        for (const [field, value] of Object.entries(recorded!)) expect(sum(field), `${by} ${field}`).toBeCloseTo(value);
      }
  });

  it('names the groups, the most expensive first, and puts what is beyond them together', async () => {
    const rows = await read(world.alice, '/api/usage?by=workflow');
    expect(rows.map(({ key, failed }) => [key, failed])).toEqual([
      [first.id, 0],
      [second.id, 1],
    ]);
    expect(rows[0]!.label).toMatch(/^worker /);
    expect((await read(world.alice, '/api/usage?by=workflow&most=1')).map(({ key, runs }) => [key, runs])).toEqual([
      [first.id, 1],
      [null, 1],
    ]);
    expect((await read(world.alice, '/api/usage?by=provider')).map(({ key }) => key).sort()).toEqual(
      [first.provider, second.provider].sort(),
    );
    expect((await read(world.alice, '/api/usage?by=trigger')).map(({ label, runs }) => [label, runs])).toEqual([['prompt', 2]]);
  });

  it('begins days where the zone does', async () => {
    const [row] = await read(world.alice, '/api/usage?interval=day&zone=Asia/Tokyo');
    expect(row!.at).toMatch(/T15:00:00/);
  });

  it("is one's own; everybody's is for administrators", async () => {
    expect(await read(world.bob, '/api/usage')).toMatchObject([{ runs: 1, completed: 1 }]);
    for (const path of ['/api/usage', '/api/usage/tools', '/api/usage/models']) {
      expect(await world.bob.get(`${path}?scope=all`)).toMatchObject({ status: 403 });
      expect((await world.root.get(`${path}?scope=all`)).status).toBe(200);
    }
    const owners = await read(world.root, '/api/usage?scope=all&by=owner');
    expect(owners.map(({ key, label, runs }) => [key, label, runs]).sort()).toEqual([
      ['local:alice', 'alice', 2],
      ['local:bob', 'bob', 1],
    ]);
    expect(await read(world.bob, '/api/usage/tools')).toEqual([]);
  });

  it('refuses a query that it cannot answer, with what to change', async () => {
    const refused = async (query: string) => {
      const { status, body } = await world.alice.get(`/api/usage?${query}`);
      expect(status, query).toBe(422);
      return body.detail as string;
    };
    expect(await refused('by=owner')).toContain('scope=all');
    expect(await refused('zone=Mars/Base')).toContain('Europe/Berlin');
    expect(await refused('from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z')).toContain('before');
    expect(await refused('from=yesterday')).toBe('`from` must be a time in ISO 8601, such as 2026-01-31T12:00:00Z');
    expect(await refused('from=2020-01-01T00:00:00Z&to=2026-01-01T00:00:00Z')).toContain('400 days');
    expect(await refused('from=2026-01-01T00:00:00Z&to=2026-06-01T00:00:00Z&interval=hour')).toContain('1000 hours');
  });

  it('counts each task once, however many count, and leaves out those of another time', async () => {
    await Promise.all([1, 2, 3, 4].map(() => world.core.store.usage.count()));
    expect(await read(world.alice, '/api/usage')).toMatchObject([{ runs: 2 }]);
    expect(await read(world.alice, '/api/usage?from=2020-01-01T00:00:00Z&to=2020-02-01T00:00:00Z')).toEqual([]);
  });
});

describe('a period', () => {
  /** The runs and calls of each hour of one morning; alice's numbers and bob's all differ. */
  const MORNING = [
    ['09', 3, 101],
    ['10', 5, 103],
    ['11', 7, 107],
    ['12', 13, 109],
  ] as const;
  beforeAll(async () => {
    for (const [hour, alices, bobs] of MORNING)
      for (const [owner, count] of [
        ['local:alice', alices],
        ['local:bob', bobs],
      ] as const) {
        const of_hour = `'2025-03-05T${hour}:00:00Z', '${owner}'`;
        await sql(`INSERT INTO usage_runs (hour, owner, workflow_id, agent_id, model, provider_id, trigger, runs, completed, failed, halted,
            total_in, total_out, cache_read, cache_write, premium_requests, cost)
          VALUES (${of_hour}, gen_random_uuid(), gen_random_uuid(), 'm', 'p', 'prompt', ${count}, ${count}, 0, 0, 0, 0, 0, 0, 0, 0)`);
        for (const kind of ['tool', 'model'])
          await sql(`INSERT INTO usage_calls (hour, owner, kind, name, duration_class, calls, failed, total_in, total_out, cost)
            VALUES (${of_hour}, '${kind}', 'counted', 100, ${count}, 0, 0, 0, 0)`);
      }
  });

  it.each([
    ['at half past', '10:30:00Z', '12:00:00Z', '10', 5 + 7],
    ['on the hour', '10:00:00Z', '12:00:00Z', '10', 5 + 7],
    ['just before the hour', '09:59:59.999Z', '12:00:00Z', '09', 3 + 5 + 7],
    ['just before the next hour', '10:59:59.999Z', '12:00:00Z', '10', 5 + 7],
    ['at half past, and ends so', '10:30:00Z', '11:30:00Z', '10', 5 + 7],
    ['on the hour, and ends just after another', '11:00:00Z', '12:00:00.001Z', '11', 7 + 13],
    ['and ends within one hour', '11:29:00Z', '11:31:00Z', '11', 7],
    ['at half past, in a zone that is half an hour off', '15:45:00+05:30', '17:30:00+05:30', '10', 5 + 7],
  ])('that begins %s has its first hour, and none before', async (_, from, to, first, expected) => {
    const period = `from=${encodeURIComponent(`2025-03-05T${from}`)}&to=${encodeURIComponent(`2025-03-05T${to}`)}`;
    for (const [path, field] of [
      ['/api/usage?', 'runs'],
      ['/api/usage?by=trigger&interval=hour&', 'runs'],
      ['/api/usage/tools?', 'calls'],
      ['/api/usage/models?', 'calls'],
    ] as const) {
      const report = await world.alice.ok(world.alice.get(`${path}${period}`));
      const sum = (report.rows as Record<string, number>[]).reduce((total, row) => total + row[field]!, 0);
      expect({ path, sum, from: report.from }).toEqual({ path, sum: expected, from: `2025-03-05T${first}:00:00.000Z` });
    }
  });
});

describe('usage of calls', () => {
  it('of tools has their number, their failures and their durations', async () => {
    const rows = await read(world.alice, '/api/usage/tools');
    expect(rows.map(({ name, calls, failed, error_rate }) => [name, calls, failed, error_rate]).sort()).toEqual([
      ['broken', 1, 1, 1],
      ['doubled', 1, 0, 0],
    ]);
    for (const { name, p50_ms } of rows) {
      const [call] = await sql(`SELECT duration_ms FROM tool_calls WHERE name = '${name}'`);
      expect(p50_ms / call!.duration_ms, name).toBeGreaterThan(0.94);
      expect(p50_ms / call!.duration_ms, name).toBeLessThan(1.06);
    }
  });

  it('has the duration within which each share of the calls ended', async () => {
    const CLASSES = { 50: 50, 80: 45, 100: 4, 120: 1 };
    for (const [duration_class, calls] of Object.entries(CLASSES))
      await sql(`INSERT INTO usage_calls (hour, owner, kind, name, duration_class, calls, failed, total_in, total_out, cost)
        VALUES (date_trunc('hour', now()), 'local:alice', 'tool', 'shares', ${duration_class}, ${calls}, 0, 0, 0, 0)`);
    const rows = await read(world.alice, '/api/usage/tools');
    const middle = (duration_class: number) => Math.round(1.1 ** (duration_class - 0.5));
    expect(rows.find(({ name }) => name === 'shares')).toMatchObject({
      calls: 100,
      p50_ms: middle(50),
      p95_ms: middle(80),
      p99_ms: middle(100),
    });
  });

  it('has durations of months', async () => {
    await sql(`INSERT INTO usage_calls (hour, owner, kind, name, duration_class, calls, failed, total_in, total_out, cost)
      VALUES (date_trunc('hour', now()), 'local:alice', 'tool', 'waited', 250, 1, 0, 0, 0, 0)`);
    const rows = await read(world.alice, '/api/usage/tools');
    expect(rows.find(({ name }) => name === 'waited')?.p99_ms).toBeGreaterThan(200 * 24 * 3_600_000);
  });

  it('of models has what they cost, and the calls that were tried again', async () => {
    const [recorded] = await sql(`SELECT count(*)::int AS calls, count(*) FILTER (WHERE errors > 0)::int AS failed,
      sum(s.total_in)::int AS total_in, sum(s.cost) AS cost FROM task_steps s JOIN tasks t ON t.id = s.task_id WHERE t.owner = 'local:alice'`);
    const rows = await read(world.alice, '/api/usage/models');
    expect(rows).toMatchObject([{ name: 'scripted', ...recorded, cost: expect.closeTo(recorded!.cost) }]);
  });
});

it('keeps the usage of what is deleted, counted or not', async () => {
  const gone = await workflowOf(world.alice);
  world.model.script(says('One.'), says('Two.'), says('Three.'));
  await run(world.alice, gone.id);
  await read(world.alice, '/api/usage');
  await run(world.alice, gone.id);
  await run(world.alice, gone.id);
  const [before] = await sql(`${RECORDED} AND owner = 'local:alice'`);
  expect(await sql('SELECT 1 FROM tasks WHERE completed_at IS NOT NULL AND NOT usage_counted')).toHaveLength(2);
  await world.alice.ok(world.alice.del(`/api/workflows/${gone.id}`));
  expect(await read(world.alice, '/api/usage')).toMatchObject([{ ...before, cost: expect.closeTo(before!.cost) }]);
});

it('counts what a fork did itself, not what it copied', async () => {
  const source = await workflowOf(world.alice, [await toolNamed(DOUBLED.replaceAll('doubled', 'doubled_again'))]);
  world.model.script(asks({ name: 'doubled_again', args: { n: 2 } }), says('Four.'));
  const task_id = await run(world.alice, source.id);
  world.model.script(says('Again.'));
  const forked = await world.alice.ok(world.alice.post(`/api/tasks/${task_id}/fork`, { from_step: 2 }), 201);
  await until('its end', async () => isTerminal((await world.alice.ok(world.alice.get(`/api/tasks/${forked.task_id}`))).status));
  const rows = await read(world.alice, '/api/usage/tools');
  expect(rows.find(({ name }) => name === 'doubled_again')).toMatchObject({ calls: 1 });
  const workflows = await read(world.alice, '/api/usage?by=workflow');
  expect(workflows.find(({ key }) => key === source.id)).toMatchObject({ runs: 2, completed: 2 });
});

it('counts runs of an evaluation for the workflow that is evaluated, and puts workflows of one request together', async () => {
  const evaluated = await workflowOf(world.alice);
  const { dataset, begin, ended } = openEvaluations(world);
  world.model.always(says('Same.'));
  await ended(await begin(await dataset({ One: 'Same.', Two: 'Same.' }), { workflow_id: evaluated.id }));
  const messages = [{ role: 'user', content: 'Hello' }];
  for (let request = 0; request < 2; request += 1)
    await world.alice.ok(world.alice.post('/v1/chat/completions', { model: `worker ${made}`, messages }));
  const rows = await read(world.alice, '/api/usage?by=workflow');
  expect(rows.find(({ key }) => key === evaluated.id)).toMatchObject({ runs: 2, completed: 2 });
  expect(rows.filter(({ key }) => key === null)).toMatchObject([{ label: null, runs: 2, completed: 2 }]);
});

it('counts runs for the same workflow if their evaluation, or the workflow of one request, is deleted first', async () => {
  const evaluated = await workflowOf(world.alice);
  const { dataset, begin, ended } = openEvaluations(world);
  world.model.always(says('Same.'));
  const dataset_id = await dataset({ One: 'Same.', Two: 'Same.' });
  const evaluation = await begin(dataset_id, { workflow_id: evaluated.id });
  await ended(evaluation);
  const [before] = (await read(world.alice, '/api/usage?by=workflow')).filter(({ key }) => key === null);
  await world.alice.ok(
    world.alice.post('/v1/chat/completions', { model: `worker ${made}`, messages: [{ role: 'user', content: 'Hello' }] }),
  );
  // As if nobody had added the runs of the evaluation, either.
  await sql(`DELETE FROM usage_runs WHERE workflow_id = '${evaluated.id}'`);
  await sql(`UPDATE tasks SET usage_counted = false WHERE id IN (
    SELECT task_id FROM evaluation_results WHERE evaluation_id = '${evaluation.split('/').at(-1)}')`);
  // A judge's run belongs to the evaluation by its workflow alone.
  await sql(`UPDATE evaluation_results SET task_id = NULL WHERE evaluation_id = '${evaluation.split('/').at(-1)}'`);
  const [once] = await sql('SELECT id FROM workflows WHERE single_use AND evaluation_id IS NULL ORDER BY id DESC LIMIT 1');
  await world.alice.ok(world.alice.del(`/api/workflows/${once!.id}`));
  await world.alice.ok(world.alice.del(`/api/datasets/${dataset_id}`));
  const rows = await read(world.alice, '/api/usage?by=workflow');
  expect(rows.filter(({ key }) => key === null)).toMatchObject([{ runs: (before?.runs ?? 0) + 1 }]);
  expect(rows.find(({ key }) => key === evaluated.id)).toMatchObject({ runs: 2, completed: 2 });
  expect(rows.find(({ key }) => key === once!.id)).toBeUndefined();
});

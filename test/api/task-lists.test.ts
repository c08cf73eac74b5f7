import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TASK_SORTS } from '../../src/contracts/task-lists.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
/** Their ids, oldest first. */
const tasks: string[] = [];
let office: string;

const RUNS = [
  { prompt: 'Pay the invoice of March', answer: says('Paid it to the plumber.'), cost: 0.5, seconds: 4, tokens: 10 },
  { prompt: 'Pay the invoice of April', answer: fails(400, { message: 'unknown deployment' }), cost: 0, seconds: 1, tokens: 0 },
  {
    prompt: 'Write to the landlord',
    answer: [asks({ name: 'manage_todo_list', args: { todoList: [] } }), says('Dear landlord')],
    cost: 0.5,
    seconds: 4,
    tokens: 10,
  },
  {
    prompt: 'Grüße an die Nachbarn: 日本語の返金 😀, RF-0311, 5 %_a\\b',
    answer: says('Hallo!'),
    cost: 2,
    seconds: 9,
    tokens: 90,
  },
  { prompt: 'Pay nobody', answer: fails(400, { message: 'unknown deployment' }), cost: 0, seconds: 1, tokens: 0 },
];

beforeAll(async () => {
  here = await shareInstallation();
  office = await here.workflow();
  const other = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
  for (const [index, { prompt, answer, cost, seconds, tokens }] of RUNS.entries()) {
    here.model.script(...[answer].flat());
    const id = await here.prompt(index === 2 ? other : office, prompt);
    await here.ended(id);
    await here.core.database.pool.query(
      `UPDATE tasks SET cost = $2, total_in = $3, total_out = 0, started_at = completed_at - make_interval(secs => $4) WHERE id = $1`,
      [id, cost, tokens, seconds],
    );
    tasks.push(id);
  }
});
afterAll(() => here.stop());

const found = async (query: Record<string, string>, client = here.alice) => {
  const list = await client.ok(client.get(`/api/tasks?${new URLSearchParams(query)}`));
  return (list as { id: string }[]).map(({ id }) => tasks.indexOf(id));
};

describe('tasks are found', () => {
  it.each([
    [{ q: 'invoice' }, [1, 0]],
    [{ q: 'INVOICE april' }, [1]],
    [{ q: 'plumber' }, [0]],
    [{ q: 'deployment' }, [4, 1]],
    [{ q: '"pay the"' }, [1, 0]],
    [{ q: 'pay -invoice' }, [4]],
    [{ q: 'landlord or nachbarn' }, [3, 2]],
    [{ q: 'grüße' }, [3]],
    [{ q: 'GRÜSSE' }, []],
    [{ q: 'nachb' }, [3]],
    [{ q: 'voice' }, [1, 0]],
    [{ q: '0311' }, [3]],
    [{ q: '返金' }, [3]],
    [{ q: '金返' }, []],
    [{ q: '日' }, [3]],
    [{ q: '😀' }, [3]],
    [{ q: '😁' }, []],
    [{ q: 'l' }, [2]],
    [{ q: 'ap' }, [1]],
    [{ q: 'pr' }, []],
    [{ q: '%' }, [3]],
    [{ q: '%_a' }, [3]],
    [{ q: '_A\\b' }, [3]],
    [{ q: '_ab' }, []],
    [{ q: 'pay -ril' }, [4, 0]],
    [{ q: '-pay' }, [3, 2]],
    [{ q: '-"pay the"' }, [4, 3, 2]],
    [{ q: '346' }, []],
    [{ q: '34' }, []],
    [{ q: '-303' }, [4, 3, 2, 1, 0]],
    [{ q: ' ' }, [4, 3, 2, 1, 0]],
    [{ q: 'nothing of the kind' }, []],
    [{ q: `'); DROP TABLE tasks; --` }, []],
    [{ q: '((("' }, []],
    [{ trigger: 'prompt', status: 'failed' }, [4, 1]],
    [{ trigger: 'schedule' }, []],
    [{ model: 'scripted' }, [4, 3, 2, 1, 0]],
    [{ model: 'another' }, []],
    [{ tool: 'manage_todo_list' }, [2]],
    [{ tool: 'manage' }, []],
    [{ tool: 'manage_todo_list', status: 'failed' }, []],
    [{ min_cost: '0.5', max_cost: '1' }, [2, 0]],
    [{ until: '2020-01-01T00:00:00Z' }, []],
    [{ sort: 'oldest', q: 'pay' }, [0, 1, 4]],
    [{ sort: 'cost' }, [3, 2, 0, 4, 1]],
    [{ sort: 'tokens' }, [3, 2, 0, 4, 1]],
    [{ sort: 'duration' }, [3, 2, 0, 4, 1]],
  ])('by %j', async (query, expected) => {
    expect(await found(query as unknown as Record<string, string>)).toEqual(expected);
  });

  it('by any part of their id', async () => {
    const id = tasks[2]!;
    expect(await found({ q: id })).toEqual([2]);
    expect(await found({ q: id.slice(-9).toUpperCase() })).toEqual([2]);
  });

  it('not by more than 500 characters', async () => {
    expect(await found({ q: 'q'.repeat(500) })).toEqual([]);
    expect(await here.alice.get(`/api/tasks?q=${'q'.repeat(501)}`)).toMatchObject({ status: 422 });
  });

  it('by workflow and time', async () => {
    expect(await found({ workflow_id: office, q: 'landlord' })).toEqual([]);
    const { created_at } = await here.alice.ok(here.alice.get(`/api/tasks/${tasks[3]}`));
    expect(await found({ since: created_at })).toEqual([4, 3]);
    expect(await found({ until: created_at, q: 'invoice or landlord' })).toEqual([2, 1, 0]);
  });

  it('by error, and counted by it', async () => {
    const { error_code } = await here.alice.ok(here.alice.get(`/api/tasks/${tasks[1]}`));
    expect(await found({ error_code })).toEqual([4, 1]);
    const groups = await here.alice.ok(here.alice.get('/api/tasks/errors'));
    expect(groups).toMatchObject([
      { error_code, runs: 2, last_task_id: tasks[4], last_error: expect.stringContaining('unknown deployment') },
    ]);
    expect(await here.alice.ok(here.alice.get('/api/tasks/errors?q=april'))).toMatchObject([{ runs: 1, last_task_id: tasks[1] }]);
  });

  it('by their owner only', async () => {
    expect(await found({ q: 'invoice' }, here.bob)).toEqual([]);
    expect(await here.bob.ok(here.bob.get('/api/tasks/errors'))).toEqual([]);
  });
});

it.each(TASK_SORTS)('pages in the order %s show each task once', async (sort) => {
  const whole = await found({ sort });
  const seen: number[] = [];
  let next: string | null = `/api/tasks?sort=${sort}&limit=2`;
  while (next) {
    const page = await here.alice.get(next);
    expect(page.headers.get('x-total-count')).toBe('5');
    seen.push(...(page.body as { id: string }[]).map(({ id }) => tasks.indexOf(id)));
    next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? null;
  }
  expect(seen).toEqual(whole);
});

it.each([
  ['', '5'],
  ['count_to=6', '5'],
  ['count_to=5', '5'],
  ['count_to=2', '2'],
  ['count_to=1&q=pay', '1'],
  ['count_to=2&sort=cost', '2'],
])('are counted as far as asked, whatever the page holds: %s', async (query, total) => {
  const page = await here.alice.get(`/api/tasks?limit=4&${query}`);
  expect(page.headers.get('x-total-count')).toBe(total);
  expect(page.body).toHaveLength(query.includes('q=pay') ? 3 : 4);
});

it('a run in progress is among the ended ones, by what it has cost so far', async () => {
  here.model.script(hangs('Half'));
  const id = await here.prompt(await here.workflow(), 'Unended');
  await until('the run', async () => (await here.alice.ok(here.alice.get(`/api/tasks/${id}`))).status === 'running');
  const { pool } = here.core.database;
  await pool.query('UPDATE tasks SET cost = 1, total_in = 40 WHERE id = $1', [id]);
  const places = { cost: 1, tokens: 1, duration: 5 };
  const lists = Object.keys(places).map(async (sort) => [sort, (await found({ sort })).indexOf(-1)]);
  expect(Object.fromEntries(await Promise.all(lists))).toEqual(places);
  await here.alice.ok(here.alice.post(`/api/tasks/${id}/stop`));
  await here.ended(id);
  await pool.query('DELETE FROM tasks WHERE id = $1', [id]);
});

it('a cursor of another order is refused', async () => {
  const { headers } = await here.alice.get('/api/tasks?sort=cost&limit=1');
  const cursor = /cursor=([^&>]+)/.exec(headers.get('link')!)![1];
  for (const query of [`cursor=${cursor}`, `sort=tokens&cursor=${cursor}`, 'sort=cost&cursor=x'])
    expect(await here.alice.get(`/api/tasks?${query}`)).toMatchObject({ status: 422, body: { code: 'bad_cursor' } });
});

it.each([
  ['%00', 422],
  ['%ED%A0%80', 200],
  ['x%20'.repeat(166), 200],
  ['x'.repeat(3_000), 422],
])('words that cannot be stored, or are many, do no harm: %.10s', async (q, status) => {
  expect(await here.alice.get(`/api/tasks?q=${q}`)).toMatchObject({ status });
});

import { v7 as uuid } from 'uuid';
import { isTerminal } from '../../../src/domain/statuses.ts';
import type { Client } from '../client.ts';
import type { SecretWorld } from '../contract/secret-world.ts';
import { asks, fails, says } from '../peers/model-server.ts';
import { until } from '../until.ts';
import { openEvaluations } from './evaluations.ts';
import { outOfQuota } from './fallbacks.ts';
import { startOfPeriod } from './figures.ts';
import { reaches } from './run-facts.ts';

export type Row = Record<string, any>;

/** Prices that all differ, so that a token that is counted as another kind costs something else. */
export const PRICES = { '*': { input: 2, output: 11, cache_read: 0.3, cache_write: 5 } };
/** What the models report, in the order of the answers. Every number differs from all others and from their sums. */
export const REPORTED = [
  { prompt_tokens: 10_007, completion_tokens: 211, prompt_tokens_details: { cached_tokens: 3_001, cache_write_tokens: 1_103 } },
  { prompt_tokens: 20_011, completion_tokens: 401, prompt_tokens_details: { cached_tokens: 7_001, cache_write_tokens: 503 } },
  { prompt_tokens: 30_011, completion_tokens: 601, prompt_tokens_details: { cached_tokens: 9_001, cache_write_tokens: 701 } },
];

const LOOK = 'EFFECT = "read"\ndef look(n: int) -> int:\n    """Looks."""\n    return n * 2\n';
const FIND = 'EFFECT = "read"\ndef find(n: int) -> int:\n    """Fails."""\n    raise ValueError("no")\n';

/** Yields primes, so that no two figures of the scene are equal. */
function* primesFrom(first: number): Generator<number, never> {
  const isPrime = (number: number) => {
    for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) return false;
    return true;
  };
  for (let number = first; ; number += 1) if (isPrime(number)) yield number;
}

export interface Person {
  client: Client;
  owner: string;
  agents: string[];
  workflows: string[];
  providers: string[];
}

export type FiguresScene = Awaited<ReturnType<typeof makeFiguresScene>>;

const HOUR_MS = 3_600_000;
const [HOUR, DAY] = [HOUR_MS, 24 * HOUR_MS];

/** Makes what two people did on several days: runs that the product made, and many more that are written into the record. */
export async function makeFiguresScene(world: SecretWorld) {
  const sql = async (text: string, ...values: unknown[]) => (await world.core.database.pool.query(text, values)).rows as Row[];
  const insert = async (table: string, rows: readonly object[]) => {
    const columns = Object.keys(rows[0]!).join(', ');
    await sql(
      `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`,
      JSON.stringify(rows),
    );
  };
  const alice = await makePerson(world.alice, 'alice', world.model.url);
  const bob = await makePerson(world.bob, 'bob', world.model.url);
  const live = await runForReal(world, alice);
  const bulk = { sql, insert, primes: primesFrom(1_009) };
  for (const [person, count] of [
    [alice, 61],
    [bob, 23],
  ] as const)
    await writeRuns(bulk, person, count);
  const evaluations = await makeEvaluations(world, alice, bulk);
  await makeRest(world, { alice, bob, ...bulk });
  return { alice, bob, sql, insert, live, evaluations };
}

async function makePerson(client: Client, name: string, base_url: string): Promise<Person> {
  const tools: string[] = [];
  for (const [tool, source_code] of [
    ['look', LOOK],
    ['find', FIND],
  ] as const) {
    const renamed = source_code.replace(`def ${tool}`, `def ${name}_${tool}`);
    tools.push((await client.ok(client.post('/api/custom-tools', { name: `${name}_${tool}`, source_code: renamed }), 201)).id);
  }
  const person: Person = { client, owner: `local:${name}`, agents: [], workflows: [], providers: [] };
  for (const number of [1, 2]) {
    const values = { provider_type: 'openai_compatible', base_url, default_model: 'scripted', price_table: PRICES };
    const provider = await client.ok(client.post('/api/providers', { name: `${name} ${number}`, ...values }), 201);
    const agent = { name: `${name} agent ${number}`, provider_id: provider.id, custom_tool_ids: tools };
    const { id: agent_id } = await client.ok(client.post('/api/agents', agent), 201);
    const workflow = { agent_id, title: `${name} workflow ${number}`, output_format: 'markdown', max_turns: 7 };
    const { id } = await client.ok(client.post('/api/workflows', workflow), 201);
    person.providers.push(provider.id);
    person.agents.push(agent_id);
    person.workflows.push(id);
  }
  return person;
}

/**
 * Makes runs of Alice's first workflow through the product: with calls that succeed and fail, one that fails, one that falls back to
 * her other provider, and one that waits.
 */
async function runForReal(
  { here, alice: client, model }: SecretWorld,
  { workflows: [workflow_id], agents: [agent_id], providers: [, other_provider] }: Person,
) {
  const prompt = async (more: object = {}) =>
    (await client.ok(client.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'Do it.', ...more }), 201)).task_id as string;
  const end = async (task_id: string) => {
    await until('its end', async () => isTerminal((await client.ok(client.get(`/api/tasks/${task_id}`))).status));
    return task_id;
  };
  const form = new FormData();
  form.set('file', new File(['x'.repeat(1_511)], 'notes.txt'));
  const { id: attachment } = await client.ok(client.post('/api/attachments', form), 201);
  const [first, second, third] = REPORTED;
  model.script(
    fails(500),
    asks({ name: 'alice_look', args: { n: 2 } }, { name: 'alice_find', args: { n: 3 }, id: 'b' }),
    says('Four.', { usage: first! }),
  );
  const completed = await end(await prompt({ attachments: [{ id: attachment }] }));
  model.script(fails(400));
  const failed = await end(await prompt());
  const forked = (await client.ok(client.post(`/api/tasks/${completed}/fork`, { from_step: 2 }), 201)).task_id as string;
  model.script(says('Again.', { usage: second! }));
  await end(forked);
  await client.ok(client.put(`/api/agents/${agent_id}`, { fallbacks: [{ on: ['quota'], provider_id: other_provider }] }));
  model.script(asks({ name: 'alice_look', args: { n: 7 } }), outOfQuota, says('Fourteen.', { usage: third! }));
  const fallen = await end(await prompt());
  await client.ok(client.put(`/api/agents/${agent_id}`, { approval_tools: ['alice_look'] }));
  model.script(
    asks({ name: 'alice_look', args: { n: 5 } }),
    says('Ten.'),
    asks({ name: 'alice_find' }),
    asks({ name: 'alice_look' }),
  );
  const approved = await prompt();
  await reaches(here, approved, { status: 'waiting' });
  await client.ok(client.post(`/api/tasks/${approved}/approvals/1-1`, { decision: 'approve' }));
  await end(approved);
  const waiting = await prompt();
  await reaches(here, waiting, { status: 'waiting' });
  return { completed, failed, forked, fallen, approved, waiting };
}

interface Bulk {
  sql(text: string, ...values: unknown[]): Promise<Row[]>;
  insert(table: string, rows: readonly object[]): Promise<void>;
  primes: Generator<number, never>;
}

const STATUSES = ['completed', 'failed', 'completed', 'halted', 'completed'] as const;
const TRIGGERS = ['prompt', 'schedule', 'api'] as const;
const MODELS = ['large', 'small', 'large-2'] as const;
const CODES = ['model_error', 'empty_answer', 'model_error'] as const;

/** Writes ended runs of a person. One in five is older than a week, or ends just before or after it. */
async function writeRuns({ sql, insert, primes }: Bulk, person: Person, count: number): Promise<void> {
  const take = () => primes.next().value;
  const hour = Math.floor(Date.now() / HOUR) * HOUR;
  const [tasks, steps, calls, messages]: [Row[], Row[], Row[], Row[]] = [[], [], [], []];
  const sources = await sql('SELECT * FROM workflows WHERE id = ANY ($1)', person.workflows);
  for (let index = 0; index < count; index += 1) {
    const workflow = sources.find(({ id }) => id === person.workflows[index % 3 === 0 ? 1 : 0])!;
    const id = uuid();
    const ended = endOf(index, hour);
    const status = STATUSES[index % STATUSES.length]!;
    const mine: Row[] = [];
    for (let step = 1; step <= 1 + (index % 3); step += 1) {
      // The first step of some runs is days older than their end.
      const early = index % 8 === 6 && step === 1 ? 3 * DAY : 0;
      const started = ended - early - 1_000 * (400 - 100 * step) - take();
      mine.push({
        ...{
          task_id: id,
          step,
          attempts: 1 + (step % 2),
          errors: index % 7 === 3 ? step : 0,
          fallback: index % 5 === 2 ? step : 0,
          model: MODELS[(index + step) % 3],
          provider_id: index % 5 === 2 ? person.providers[step % 2] : null,
        },
        ...{ finish: 'stop', total_in: take() * 10, total_out: take(), cache_read: take(), cache_write: take() },
        ...{
          cost: take() / 997,
          estimated: false,
          unpriced: index % 7 === 5 && step === 1,
          started_at: iso(started),
          ended_at: iso(started + 100 * take()),
        },
      });
      for (let position = 1; position <= 1 + ((index + step) % 3); position += 1) {
        const name = `${person.owner.slice('local:'.length)}_${position % 2 ? 'look' : 'find'}`;
        const call = { task_id: id, call_id: `${step}-${position}`, step, position, name };
        calls.push({
          ...{
            ...call,
            arguments: '{}',
            effect: 'read',
            status: 'done',
            attempts: 1,
            errors: index % 4,
            failed: index % 5 === 2,
          },
          ...{ duration_ms: position === 3 ? null : 7 * take(), started_at: iso(started), ended_at: iso(started + 13 * take()) },
        });
        messages.push({ task_id: id, step, position, role: 'tool', kind: 'result', content: '4', call_id: call.call_id });
      }
      messages.push({ task_id: id, step, position: 0, role: 'assistant', kind: 'reply', content: 'So.' });
    }
    const sum = (field: string) => mine.reduce((total, row) => total + row[field], 0);
    steps.push(...mine);
    tasks.push({
      ...{ id, workflow_id: workflow.id, owner: person.owner, owner_login: workflow.owner_login, agent_id: workflow.agent_id },
      ...{ agent_name: 'agent', workflow_title: workflow.title, model: MODELS[index % 3], prompt: `Prompt ${index}`, status },
      ...{ definition_hash: (await sql('SELECT hash FROM definitions ORDER BY hash'))[index % 2]?.hash, response: '"So."' },
      ...{ trigger: TRIGGERS[index % 3], error: status === 'failed' ? `It failed ${index}` : null },
      ...{
        error_code: status === 'failed' ? CODES[index % 3] : null,
        turns: take(),
        steps: mine.length,
        usage_estimated: index % 6 === 1,
        unpriced_models: index % 7 === 5 ? [MODELS[(index + 1) % 3]] : [],
      },
      ...{
        total_in: sum('total_in'),
        total_out: sum('total_out'),
        cache_read: sum('cache_read'),
        cache_write: sum('cache_write'),
      },
      ...{
        cost: sum('cost'),
        premium_requests: take(),
        created_at: iso(ended - 900_000),
        started_at: iso(ended - 600_000 - take()),
      },
      ...{ completed_at: iso(ended), todos: [], fork_step: null },
    });
  }
  await insert('tasks', tasks);
  await insert('task_steps', steps);
  await insert('tool_calls', calls);
  await insert('task_messages', messages);
  await sql(
    `UPDATE workflows w SET task_count = task_count + (SELECT count(*) FROM tasks t WHERE t.workflow_id = w.id AND t.id = ANY ($1)),
      last_task_id = CASE WHEN w.id = $2 THEN $3 ELSE last_task_id END WHERE w.id = ANY ($4)`,
    ...[tasks.map(({ id }) => id), person.workflows[1], tasks.findLast((task) => task.workflow_id === person.workflows[1])!.id],
    person.workflows,
  );
}

const iso = (at: number) => new Date(at).toISOString();

/** The ends of the runs: over six days, at the edges of a week and of an hour, and long ago. */
function endOf(index: number, hour: number): number {
  if (index % 10 === 4) return hour - 7 * DAY - 1;
  if (index % 10 === 9) return hour - 7 * DAY;
  if (index === 5) return hour - 30 * DAY;
  return hour - (index % 6) * DAY - (index % 5) * HOUR - [0, 1, HOUR - 1][index % 3]!;
}

/** Evaluates Alice's second workflow for real, and writes an older and a newer evaluation. */
async function makeEvaluations(world: SecretWorld, { workflows: [, workflow_id] }: Person, { sql, insert }: Bulk) {
  const { dataset, begin, ended } = openEvaluations(world);
  world.model.always(says('Same.'));
  const dataset_id = await dataset({ One: 'Same.', Two: 'Same.', Three: 'Other.', Four: 'Same.', Five: 'Same.' });
  await dataset({ Six: 'Same.', Seven: 'Same.' });
  const { evaluation } = await ended(await begin(dataset_id, { workflow_id, parallel: 2 }));
  const [row] = await sql('SELECT * FROM evaluations WHERE id = $1', evaluation.id);
  const items = await sql('SELECT * FROM dataset_items WHERE dataset_id = $1 ORDER BY id', dataset_id);
  const statuses = [
    ['passed', 'failed', 'failed', 'error', 'passed'],
    ['passed', 'passed', 'passed', 'failed', 'error'],
  ];
  for (const results of statuses) {
    const count = (status: string) => results.filter((one) => one === status).length;
    const id = uuid();
    const counted = { items: items.length, passed: count('passed'), failed: count('failed'), errors: count('error') };
    await insert('evaluations', [{ ...row, id, ...counted, caller_token: null, baseline_id: evaluation.id }]);
    const grade = (index: number) => [{ grader: 'judge', passed: true, reason: null, score: (index + 2) / 7 }];
    const rows = results.map((status, index) => ({ evaluation_id: id, item_id: items[index]!.id, status, grades: grade(index) }));
    await insert('evaluation_results', rows);
  }
  return { dataset_id };
}

interface BudgetsOf extends Pick<Bulk, 'insert' | 'primes'> {
  workflow_id: string;
  owner: string;
}

/** Writes budgets in dollars and in tokens: what was spent in this period and the one before, live reservations and lost ones. */
async function writeBudgets({ insert, primes, workflow_id, owner }: BudgetsOf): Promise<string[]> {
  const take = () => primes.next().value;
  const ids: string[] = [];
  for (const [period, limits] of [
    ['month', { limit_usd: 1_000_003, limit_tokens: null }],
    ['week', { limit_usd: null, limit_tokens: 10_000_019 }],
  ] as const) {
    const id = uuid();
    ids.push(id);
    const subject = { scope: 'workflow', subject: workflow_id, owner, created_by: owner };
    const rest = { time_zone: 'UTC', warn_at: [0.8], on_exhausted: 'wait', created_at: new Date(), updated_at: new Date() };
    await insert('budgets', [{ id, name: `${owner} ${period}`, period, ...limits, ...subject, ...rest }]);
    const start = startOfPeriod(period, Date.now());
    const starts = [start, startOfPeriod(period, start - 1)].map((at) => new Date(at));
    const ends_at = new Date(start + 32 * 24 * HOUR);
    const used = () => ({ budget_id: id, cost: take(), tokens: take() });
    await insert(
      'budget_periods',
      starts.map((starts_at) => ({ ...used(), starts_at, ends_at, warned: 0 })),
    );
    const reservation = (starts_at: Date, alive_until: number) => ({
      ...{ ...used(), id: uuid(), holder: uuid() },
      ...{ starts_at, alive_until: new Date(alive_until) },
    });
    const [present, past] = starts as [Date, Date];
    const later = Date.now() + 24 * HOUR;
    await insert('budget_reservations', [
      ...[reservation(present, later), reservation(present, later)],
      ...[reservation(present, Date.now() - HOUR), reservation(past, later)],
    ]);
  }
  return ids;
}

async function makeRest(world: SecretWorld, { alice, bob, sql, insert, primes }: Bulk & { alice: Person; bob: Person }) {
  for (const { client, owner, agents, workflows } of [alice, bob]) {
    const tasks = await sql('SELECT * FROM tasks WHERE owner = $1 AND workflow_id = $2 ORDER BY id', owner, workflows[0]);
    const values = [
      { thumb: 'up' },
      { thumb: 'down' },
      { value: 3.7 },
      { value: 0.11 },
      { thumb: 'up' },
      { value: 5 },
      { thumb: 'up' },
    ];
    for (const [index, score] of values.entries()) {
      const { id } = tasks.filter(({ completed_at }) => completed_at)[Math.floor(index / 2)]!;
      await client.ok(client.post(`/api/tasks/${id}/scores`, score), 201);
    }
    for (const items of [1, 3]) {
      const source = await client.ok(client.post('/api/knowledge-sources', { name: `${owner} source ${items}` }), 201);
      for (let item = 0; item < items; item += 1)
        await client.ok(
          client.post('/api/knowledge-items', {
            ...{ source_id: source.id, name: `${owner} item ${item}` },
            content: Array.from({ length: 400 * (item + 1) }, (_, line) => `Sentence number ${line} of it.`).join('\n\n'),
          }),
          201,
        );
    }
    for (const turns of [1, 2]) {
      let session_id: string | undefined;
      for (let turn = 0; turn < turns; turn += 1) {
        world.model.script(
          says('So.', { usage: { prompt_tokens: primes.next().value, completion_tokens: primes.next().value } }),
        );
        const { body } = await client.post(`/api/agents/${agents[0]}/chat`, { message: 'Well?', session_id });
        session_id = /"session_id":"([^"]+)"/.exec(String(body))![1];
      }
    }
    const budgets = await writeBudgets({ insert, primes, workflow_id: workflows[1]!, owner });
    for (const budget_id of budgets) {
      const alert = { name: `${owner} ${budget_id}`, measure: 'budget', threshold: 83, budget_id };
      await client.ok(client.post('/api/alerts', alert), 201);
    }
    for (const [index, measure] of ['failure_rate', 'spend', 'waiting', 'provider_errors', 'backlog'].entries())
      for (const workflow_id of [null, workflows[1]]) {
        const alert = { name: `${owner} ${measure} ${index}`, measure, threshold: workflow_id ? 1_000_003 : 0.0001, workflow_id };
        await client.ok(client.post('/api/alerts', { ...alert, window_minutes: 1_441 + index, min_runs: 3 }), 201);
      }
  }
  await world.core.store.alerts.measure(new Date());
  await sql(`UPDATE tasks SET todos = '[{"id":"1","title":"a","status":"done"},{"id":"2","title":"b","status":"in-progress"},{"id":"3","title":"c","status":"todo"}]'
    WHERE prompt = 'Prompt 7'`);
  const [task] = await sql(`SELECT id FROM tasks WHERE prompt = 'Prompt 7' AND owner = $1`, alice.owner);
  const delivery = { id: uuid(), task_id: task!.id, url: 'https://hooks.example/', payload: {}, status: 'delivered' };
  await insert('webhook_deliveries', [delivery]);
  const attempts = [503, 500, 204].map((response_status, index) => ({
    delivery_id: delivery.id,
    attempt: index + 1,
    response_status,
  }));
  await insert('webhook_attempts', attempts);
  const [event] = await sql(
    `SELECT e.id FROM alert_events e JOIN alerts a ON a.id = e.alert_id WHERE a.owner = $1 ORDER BY e.id`,
    alice.owner,
  );
  if (event) {
    const message = { id: uuid(), alert_event_id: event.id, url: 'https://hooks.example/', payload: {}, status: 'failed' };
    await insert('webhook_deliveries', [message]);
    await insert(
      'webhook_attempts',
      [1, 2, 3, 4].map((attempt) => ({ delivery_id: message.id, attempt, response_status: 500 })),
    );
  }
}

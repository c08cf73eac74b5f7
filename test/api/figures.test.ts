import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeApi } from '../../src/api/service/openapi.ts';
import { declaredEndpoints } from '../support/contract/endpoints.ts';
import { metricsOf } from '../support/contract/metrics.ts';
import { type SecretWorld, startSecretWorld } from '../support/contract/secret-world.ts';
import * as second from '../support/runs/figures.ts';
import { type FiguresScene, makeFiguresScene, type Person, PRICES, REPORTED, type Row } from '../support/runs/figures-scene.ts';

interface Read {
  path: string;
  /** The figures, computed from the record, in the shape of the reply. */
  expected: unknown;
  /** The number of all items of a list; by default of those that are expected. */
  total?: number;
}

const MOST = 100;
const DAY_MS = 24 * 3_600_000;
const iso = (at: number) => new Date(at).toISOString();

let world: SecretWorld;
let scene: FiguresScene;
let record: second.Record_;
beforeAll(async () => {
  // The worker's own reconciler would measure alerts again while the test compares.
  world = await startSecretWorld({ env: { RECONCILE_SECONDS: '86400' } });
  scene = await makeFiguresScene(world);
  const tables = second.TABLES.map(async (table) => [table, await scene.sql(`SELECT * FROM ${table}`)] as const);
  record = Object.fromEntries(await Promise.all(tables)) as second.Record_;
}, 120_000);
afterAll(() => world?.stop());

const owned = (rows: readonly Row[], { owner }: Person) =>
  second.newestFirst(rows.filter((row) => (row.owner ?? row.created_by ?? row.principal) === owner));
const list = (path: string, rows: readonly unknown[], total = rows.length): Read => ({
  path: `${path}${path.includes('?') ? '&' : '?'}limit=${MOST}`,
  expected: rows,
  total,
});
const endedOf = (person: Person) => owned(record.tasks, person).filter(({ completed_at }) => completed_at !== null);

/** Periods whose edges lie on an hour, within one, and just before one. */
function listPeriods(): { from: number; to: number }[] {
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  return [
    { from: hour - 7 * DAY_MS, to: hour + 3_600_000 },
    { from: hour - 3 * DAY_MS + 1_799_000, to: hour - DAY_MS + 1 },
    { from: hour - 40 * DAY_MS, to: hour - 2 * DAY_MS - 1 },
  ];
}

function usageReads({ owner }: Pick<Person, 'owner'>, scope: 'mine' | 'all'): Read[] {
  return listPeriods().flatMap((period) => {
    const query = { ...period, owner: scope === 'all' ? null : owner };
    const text = `from=${iso(period.from)}&to=${iso(period.to)}${scope === 'all' ? '&scope=all' : ''}`;
    const groups = second.USAGE_BY.filter((by) => by !== 'owner' || scope === 'all');
    return groups.flatMap((by) =>
      ([null, 'day'] as const).flatMap((interval) =>
        [1, 20].map((most) => ({
          path: `/api/usage?${text}&most=${most}${by === 'none' ? '' : `&by=${by}`}${interval ? `&interval=${interval}` : ''}`,
          expected: { rows: second.toUsageRows(record, query, { by, interval, most }) },
        })),
      ),
    );
  });
}

const callReads = (kind: 'tools' | 'models', { owner }: Person): Read[] =>
  listPeriods().map((period) => ({
    path: `/api/usage/${kind}?from=${iso(period.from)}&to=${iso(period.to)}`,
    expected: { rows: (kind === 'tools' ? second.toToolRows : second.toModelRows)(record, { ...period, owner }) },
  }));

const toAlert = (alert: Row) => ({ id: alert.id, last_value: second.measure(record, alert) });
const toBudget = (budget: Row) => second.toBudget(record, budget, Date.now());
const toAlertEvent = (event: Row) => {
  const deliveries = record.webhook_deliveries
    .filter(({ alert_event_id }) => alert_event_id === event.id)
    .map(({ id }) => ({ attempts: record.webhook_attempts.filter(({ delivery_id }) => delivery_id === id).length }));
  const delivery_attempts = deliveries.reduce((sum, { attempts }) => sum + attempts, 0);
  return { id: event.id, value: event.value, threshold: event.threshold, delivery_attempts, deliveries };
};
const listTurns = (session: Row) =>
  record.tasks.filter(({ thread_id }) => thread_id === session.id).toSorted((one, other) => one.thread_turn - other.thread_turn);
const toMessages = (session: Row) =>
  listTurns(session).flatMap(({ total_in, total_out }) => [
    { role: 'user' },
    { role: 'assistant', usage: { prompt_tokens: total_in, completion_tokens: total_out } },
  ]);
/** The threads that are chats: each has a hidden workflow. */
const sessionsOf = (person: Person) =>
  owned(record.threads, person).filter(({ workflow_id }) =>
    record.workflows.some(({ id, single_use }) => id === workflow_id && single_use),
  );
const toSession = (session: Row) => ({ id: session.id, message_count: 2 * listTurns(session).length });
const toDataset = (dataset: Row) => ({
  id: dataset.id,
  item_count: record.dataset_items.filter(({ dataset_id }) => dataset_id === dataset.id).length,
});
const toKnowledgeItem = (item: Row) => ({
  id: item.id,
  chunks: record.knowledge_chunks.filter(({ item_id }) => item_id === item.id).length,
});
const toWebhook = (delivery: Row) => ({
  attempts: record.webhook_attempts
    .filter(({ delivery_id }) => delivery_id === delivery.id)
    .toSorted((one, other) => one.attempt - other.attempt)
    .map(({ attempt, response_status }) => ({ attempt, response_status })),
});

/** How each operation with a figure is read, and the same figures computed from the record. */
const READS: Record<string, (person: Person) => Read[]> = {
  'GET /api/alerts': (person) => [list('/api/alerts', owned(record.alerts, person).map(toAlert))],
  'GET /api/alerts/{id}': (person) =>
    owned(record.alerts, person).map((alert) => ({ path: `/api/alerts/${alert.id}`, expected: toAlert(alert) })),
  'GET /api/alerts/{id}/events': (person) =>
    owned(record.alerts, person).map(({ id }) => {
      const events = second.newestFirst(record.alert_events.filter(({ alert_id }) => alert_id === id));
      return list(`/api/alerts/${id}/events`, events.map(toAlertEvent));
    }),
  'GET /api/attachments/{id}': (person) =>
    owned(record.attachments, person).map(({ id, content }) => ({
      path: `/api/attachments/${id}`,
      expected: { id, size: content.length },
    })),
  'GET /api/agents/{agent_id}/chat/sessions': (person) => [
    list(`/api/agents/${person.agents[0]}/chat/sessions`, sessionsOf(person).map(toSession)),
  ],
  'GET /api/agents/{agent_id}/chat/sessions/{session_id}': (person) =>
    sessionsOf(person).map((session) => ({
      path: `/api/agents/${person.agents[0]}/chat/sessions/${session.id}`,
      expected: { ...toSession(session), messages: toMessages(session) },
    })),
  'GET /api/budgets': (person) => [list('/api/budgets', owned(record.budgets, person).map(toBudget))],
  'GET /api/budgets/{id}': (person) =>
    owned(record.budgets, person).map((budget) => ({ path: `/api/budgets/${budget.id}`, expected: toBudget(budget) })),
  'GET /api/datasets': (person) => [list('/api/datasets', owned(record.datasets, person).map(toDataset))],
  'GET /api/datasets/{id}': (person) =>
    owned(record.datasets, person).map((dataset) => ({ path: `/api/datasets/${dataset.id}`, expected: toDataset(dataset) })),
  'GET /api/datasets/{id}/runs': (person) =>
    owned(record.datasets, person).map(({ id }) =>
      list(
        `/api/datasets/${id}/runs`,
        owned(record.evaluations, person)
          .filter(({ dataset_id }) => dataset_id === id)
          .map((row) => second.toEvaluation(record, row)),
      ),
    ),
  'GET /api/datasets/{id}/runs/{run_id}': (person) =>
    owned(record.evaluations, person).map((row) => ({
      path: `/api/datasets/${row.dataset_id}/runs/${row.id}`,
      expected: second.toEvaluation(record, row),
    })),
  'GET /api/datasets/{id}/runs/{run_id}/results': (person) =>
    owned(record.evaluations, person).map(({ id, dataset_id }) => {
      const results = record.evaluation_results.filter(({ evaluation_id }) => evaluation_id === id);
      const rows = results.toSorted((one, other) => (one.item_id < other.item_id ? 1 : -1));
      return list(
        `/api/datasets/${dataset_id}/runs/${id}/results`,
        rows.map(({ item_id, grades }) => ({ item_id, grades })),
      );
    }),
  'GET /api/knowledge-items': (person) => [
    list('/api/knowledge-items?q=', second.newestFirst(record.knowledge_items).map(toKnowledgeItem)),
    ...owned(record.knowledge_items, person).map(({ source_id }) =>
      list(
        `/api/knowledge-items?source_id=${source_id}`,
        second.newestFirst(record.knowledge_items.filter((item) => item.source_id === source_id)).map(toKnowledgeItem),
      ),
    ),
  ],
  'GET /api/knowledge-items/{id}': (person) =>
    owned(record.knowledge_items, person).map((item) => ({
      path: `/api/knowledge-items/${item.id}`,
      expected: toKnowledgeItem(item),
    })),
  'GET /api/tasks': (person) => [
    list(
      '/api/tasks',
      owned(record.tasks, person).map((row) => second.toTask(record, row)),
    ),
    ...['completed', 'failed', 'halted', 'waiting'].map((status) =>
      list(
        `/api/tasks?status=${status}`,
        owned(record.tasks, person)
          .filter((row) => row.status === status)
          .map((row) => second.toTask(record, row)),
      ),
    ),
  ],
  'GET /api/tasks/errors': (person) => [{ path: '/api/tasks/errors', expected: second.toErrors(record, person.owner) }],
  'GET /api/tasks/{id}': (person) =>
    endedOf(person).map((row) => ({
      path: `/api/tasks/${row.id}?include=messages,logs,steps`,
      expected: second.toTaskDetail(record, row),
    })),
  'GET /api/tasks/{id}/progress': (person) =>
    endedOf(person).map(({ id, todos }) => ({
      path: `/api/tasks/${id}/progress`,
      expected: {
        percent_complete: Math.round((100 * todos.filter(({ status }: Row) => status === 'done').length) / (todos.length || 1)),
      },
    })),
  'GET /api/tasks/{id}/steps': (person) =>
    endedOf(person).map(({ id }) => ({ path: `/api/tasks/${id}/steps`, expected: second.toSteps(record, id) })),
  'GET /api/tasks/{id}/steps/{step}': (person) =>
    endedOf(person)
      .slice(0, 20)
      .flatMap(({ id }) =>
        second.toSteps(record, id).map((step) => ({ path: `/api/tasks/${id}/steps/${step.step}`, expected: step })),
      ),
  'GET /api/tasks/{id}/scores': (person) =>
    owned(record.tasks, person)
      .filter(({ id }) => record.task_scores.some(({ task_id }) => task_id === id))
      .map(({ id }) => {
        const scores = second.newestFirst(record.task_scores.filter(({ task_id }) => task_id === id));
        return list(
          `/api/tasks/${id}/scores`,
          scores.map(({ id: score, value }) => ({ id: score, value })),
        );
      }),
  'GET /api/tasks/{id}/webhooks': (person) =>
    owned(record.tasks, person).map(({ id }) => ({
      path: `/api/tasks/${id}/webhooks`,
      expected: record.webhook_deliveries.filter(({ task_id }) => task_id === id).map(toWebhook),
    })),
  'GET /api/tasks/workflow/{workflow_id}': (person) =>
    [...person.workflows, ...owned(record.threads, person).map(({ workflow_id }) => workflow_id)].map((id) =>
      list(
        `/api/tasks/workflow/${id}`,
        owned(record.tasks, person)
          .filter(({ workflow_id }) => workflow_id === id)
          .map((row) => second.toTask(record, row)),
      ),
    ),
  'GET /api/usage': (person) => usageReads(person, 'mine'),
  'GET /api/usage/tools': (person) => callReads('tools', person),
  'GET /api/usage/models': (person) => callReads('models', person),
  'GET /api/workflows': (person) => [
    list(
      '/api/workflows',
      owned(record.workflows, person)
        .filter(({ single_use }) => !single_use)
        .map((row) => second.toWorkflow(record, row)),
    ),
  ],
  'GET /api/workflows/{id}': (person) =>
    person.workflows.map((id) => {
      const row = record.workflows.find((workflow) => workflow.id === id)!;
      const last = record.tasks.find((task) => task.id === row.last_task_id);
      const { messages, logs } = last ? second.toTranscript(record, last.id) : { messages: [], logs: [] };
      return { path: `/api/workflows/${id}`, expected: { ...second.toWorkflow(record, row), messages, logs } };
    }),
  'GET /api/workflows/{id}/scores': (person) =>
    person.workflows.map((id) => ({ path: `/api/workflows/${id}/scores`, expected: second.toVersionScores(record, id) })),
  'GET /api/workflows/{id}/versions': (person) =>
    person.workflows.map((id) => {
      const versions = record.workflow_versions.filter(({ workflow_id }) => workflow_id === id);
      return list(
        `/api/workflows/${id}/versions`,
        versions.toSorted((one, other) => other.number - one.number).map((row) => second.toVersion(record, row)),
      );
    }),
  'GET /api/workflows/{id}/versions/{number}': (person) =>
    record.workflow_versions
      .filter(({ workflow_id }) => person.workflows.includes(workflow_id))
      .map((row) => ({
        path: `/api/workflows/${row.workflow_id}/versions/${row.number}`,
        expected: second.toVersion(record, row),
      })),
};

/** Operations whose numbers are compared elsewhere, or repeat the record as it is. */
const ELSEWHERE: Record<string, RegExp> = {
  'every format of /v1: test/api/compat-figures.test.ts': /^GET \/v1\//,
  'the record as it is: test/temporal/bundles.test.ts': /\/bundle$/,
  'the request of a step: test/temporal/run-inspection.test.ts': /\/request$/,
  'spans of the steps and calls: test/unit/timeline.test.ts': /\/timeline$/,
  'events, each of them as recorded: src/contracts/events.ts is compared at the end of each file': /\/stream$/,
  'receipts, as they were written: test/temporal/thread-messages.test.ts': /\/messages(\/\{message_id\})?$/,
  'the state of the installation: test/temporal/system.test.ts': /\/api\/system$/,
  'requests of everybody, with the status that each was answered with: test/api/audit.test.ts': /\/api\/audit$/,
};

/** Numbers that somebody has set, or that a vendor publishes: they are stored and repeated, not counted. */
const SETTINGS = new RegExp(
  `(^|[.\\]])(${[
    ...['max_turns', 'temperature', 'top_p', 'max_output_tokens', 'model_total_seconds', 'model_silence_seconds', 'pass_at'],
    ...[
      'requests_per_minute',
      'context_window',
      'fallback_minutes',
      'window_minutes',
      'min_runs',
      'parallel',
      'interval_value',
      'jitter_seconds',
    ],
    ...[
      'pause_after_failures',
      'catchup_window_seconds',
      'budget\\.\\w+',
      'limit_usd',
      'limit_tokens',
      'warn_at\\[\\]',
      'price_table\\.\\*?(\\.?\\w+)+',
      'price(\\.\\w+)+',
      'max_output',
    ],
    'connect_seconds',
    ...['definition\\..*', 'graders\\[\\]\\..*'],
  ].join('|')})$`,
);
/** Set by people for the alerts themselves, and compared with the event in their history. */
const THRESHOLD = /^(\[\])?\.threshold$/;
/** Events of a run, as recorded; no run of the scene has an event of each kind. */
const LOGS = /(^|[.\]])(logs|waiting_messages)\[\]/;

const toTemplate = (at: readonly string[]) => at.map((part) => (/^\d+$/.test(part) ? '[]' : `.${part}`)).join('');
type Leaf = string | number | second.Near;

function listLeaves(value: unknown, at: string[] = []): [string[], Leaf][] {
  if (typeof value === 'number' || typeof value === 'string' || second.isNear(value)) return [[at, value as Leaf]];
  if (typeof value !== 'object' || value === null || value instanceof Date) return [];
  return Object.entries(value).flatMap(([name, inner]) => listLeaves(inner, [...at, name]));
}

/** True if a value is the expected one; a sum of fractions depends on their order. */
function isSame(value: unknown, expected: Leaf): boolean {
  if (second.isNear(expected)) return Math.abs(Number(value) - expected.near) <= expected.off;
  if (typeof expected === 'string') return value === expected;
  return typeof value === 'number' && Math.abs(value - expected) <= 1e-9 * Math.max(1, Math.abs(expected));
}

/** Returns how a reply differs from its second computation: wrong, missing, or not computed a second time. */
function compare(operation: string, body: unknown, expected: unknown): string[] {
  const actual = new Map(listLeaves(body).map(([at, value]) => [at.join('.'), value]));
  const leaves = listLeaves(expected).map(([at, value]) => [at.join('.'), value] as const);
  const wrong = leaves.filter(([at, value]) => !isSame(actual.get(at), value));
  const computed = new Map(leaves);
  const numbers = listLeaves(body).filter(([at, value]) => typeof value === 'number' && isFigure(operation, toTemplate(at)));
  for (const [at, value] of numbers) if (value !== 0) seen.add(`${operation} ${toTemplate(at)}`);
  const alone = numbers.filter(([at]) => !computed.has(at.join('.')));
  return [
    ...wrong.map(([at, value]) => `${at} is ${actual.get(at)}, not ${JSON.stringify(value)}`),
    ...alone.map(([at, value]) => `${at} is ${value}, and nobody computes it a second time`),
  ];
}

const isFigure = (operation: string, template: string) =>
  !SETTINGS.test(template) && !(THRESHOLD.test(template) && !operation.endsWith('/events'));

/** The figures that were compared and were not zero. */
const seen = new Set<string>();

describe('every figure of the API is what the record says', () => {
  it.each(Object.keys(READS))('%s', { timeout: 60_000 }, async (operation) => {
    const differences: Record<string, string[]> = {};
    for (const person of [scene.alice, scene.bob])
      for (const { path, expected, total } of READS[operation]!(person)) {
        const { status, headers, body } = await person.client.get(path);
        expect([path, status]).toEqual([path, 200]);
        const found = compare(operation, body, expected);
        const counted = headers.get('x-total-count');
        if (total !== undefined && Number(counted) !== total) found.push(`x-total-count is ${counted}, not ${total}`);
        if (found.length > 0) differences[path] = found.slice(0, 10);
      }
    expect(differences).toEqual({});
  });

  it('GET /api/usage of everybody', async () => {
    for (const { path, expected } of usageReads(scene.alice, 'all'))
      expect({ path, found: compare('', await world.root.ok(world.root.get(path)), expected) }).toEqual({ path, found: [] });
  });

  it('of each operation with a number in its description, at least once with another number than zero', async () => {
    const api = describeApi(await declaredEndpoints(), 'test') as unknown as Described;
    const described = listFigures(api).filter(
      ([operation, field]) =>
        !Object.values(ELSEWHERE).some((pattern) => pattern.test(operation)) && isFigure(operation, field) && !LOGS.test(field),
    );
    expect(described.length).toBeGreaterThan(150);
    expect(described.map((figure) => figure.join(' ')).filter((figure) => !seen.has(figure))).toEqual([]);
  });
});

interface Schema {
  $ref?: string;
  type?: string | string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
}
interface Described {
  paths: Record<string, { get?: { responses: Record<string, { content?: Record<string, { schema: Schema }> }> } }>;
  components: { schemas: Record<string, Schema> };
}

/** Lists the numbers in the replies of all operations that read: operation and path. */
function listFigures({ paths, components }: Described): [string, string][] {
  function listNumbers(schema: Schema, at: string, above: string[]): string[] {
    const name = schema.$ref?.split('/').at(-1);
    if (name) return above.includes(name) ? [] : listNumbers(components.schemas[name]!, at, [...above, name]);
    const more = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
    return [
      ...([schema.type].flat().some((type) => type === 'integer' || type === 'number') ? [at] : []),
      ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((one) => listNumbers(one, at, above)),
      ...(schema.items ? listNumbers(schema.items, `${at}[]`, above) : []),
      ...Object.entries(schema.properties ?? {}).flatMap(([field, inner]) => listNumbers(inner, `${at}.${field}`, above)),
      ...(more ? listNumbers(more, `${at}.*`, above) : []),
    ];
  }
  return Object.entries(paths).flatMap(([path, { get }]) =>
    Object.entries(get?.responses ?? {})
      .filter(([status]) => status.startsWith('2'))
      .flatMap(([, { content = {} }]) => Object.values(content))
      .flatMap(({ schema }) =>
        [...new Set(listNumbers(schema, '', []))].map((field): [string, string] => [`GET ${path}`, field]),
      ),
  );
}

describe('what a model reports', () => {
  const price = PRICES['*'];
  const costOf = ({ prompt_tokens, completion_tokens, prompt_tokens_details: of }: (typeof REPORTED)[number]) =>
    ((prompt_tokens - of.cached_tokens - of.cache_write_tokens) * price.input +
      of.cached_tokens * price.cache_read +
      of.cache_write_tokens * price.cache_write +
      completion_tokens * price.output) /
    1_000_000;
  const toRow = (reported: (typeof REPORTED)[number]) => ({
    ...{ total_in: reported.prompt_tokens, total_out: reported.completion_tokens },
    ...{
      cache_read: reported.prompt_tokens_details.cached_tokens,
      cache_write: reported.prompt_tokens_details.cache_write_tokens,
    },
    cost: expect.closeTo(costOf(reported), 12),
  });

  it('is on record with its step, and each task has the sum of the steps that it made', () => {
    const { completed, forked, fallen } = scene.live;
    const stepsOf = (id: string) =>
      record.task_steps.filter(({ task_id }) => task_id === id).toSorted((one, other) => one.step - other.step);
    expect(stepsOf(completed)[1]).toMatchObject(toRow(REPORTED[0]!));
    expect(stepsOf(forked).at(-1)).toMatchObject(toRow(REPORTED[1]!));
    expect(stepsOf(fallen)[1]).toMatchObject({ ...toRow(REPORTED[2]!), provider_id: scene.alice.providers[1] });
    for (const { id, fork_step, ...row } of record.tasks) {
      const own = stepsOf(id).filter(({ step }) => step >= (fork_step ?? 0));
      for (const field of ['total_in', 'total_out', 'cache_read', 'cache_write', 'cost'])
        expect(row[field], `${id} ${field}`).toBeCloseTo(second.sumOf(own, field), 9);
    }
  });
});

describe('every metric of Perdura is what was done', () => {
  /** The tasks that this process has run; the others were written into the record. */
  const listRun = () => record.tasks.filter(({ prompt }) => !/^Prompt \d/.test(prompt));
  const ownSteps = () =>
    record.task_steps.filter(({ task_id, step }) =>
      listRun().some(({ id, fork_step }) => id === task_id && step >= (fork_step ?? 0)),
    );
  const ended = () => listRun().filter(({ completed_at }) => completed_at !== null);
  const calls = () =>
    record.tool_calls.filter(
      ({ task_id, status }) => status === 'done' && listRun().some(({ id, forked_from }) => id === task_id && !forked_from),
    );
  const secondsOf = (from: Date, to: Date) => (to.getTime() - from.getTime()) / 1_000;
  const tokens = (kind: string) => second.sumOf(ownSteps(), kind);
  const FAILED_REQUESTS = 3;

  /** The value of each series, by its family and labels; a function receives the value, for one that only has bounds. */
  const expected = async (): Promise<Record<string, number | ((value: number) => boolean) | undefined>> => {
    const byEnd = Map.groupBy(ended(), ({ status, trigger }) => `{status="${status}",trigger="${trigger}"}`);
    const [waiting] = record.tasks.filter(({ status }) => status === 'waiting');
    const [{ count: unsent } = { count: -1 }] = await scene.sql('SELECT count(*)::int FROM audit_queue');
    const seconds = (rows: readonly Row[]) => rows.reduce((sum, row) => sum + secondsOf(row.started_at, row.ended_at), 0);
    const most = (limit: number) => (value: number) => value > 0 && value <= limit;
    const runs = [...byEnd].flatMap(([labels, rows]) => {
      const total = rows.reduce((sum, row) => sum + secondsOf(row.created_at, row.completed_at), 0);
      return [
        [`perdura_run_duration_seconds_count${labels}`, rows.length],
        [`perdura_run_duration_seconds_sum${labels}`, (value: number) => Math.abs(value - total) < 0.2 * rows.length],
      ] as const;
    });
    const byOutcome = Map.groupBy(calls(), ({ name, failed }) => `{tool="${name}",outcome="${failed ? 'failed' : 'ok'}"}`);
    const tools = [...byOutcome].flatMap(([labels, rows]) => [
      [`perdura_tool_call_duration_seconds_count${labels}`, rows.length] as const,
      [`perdura_tool_call_duration_seconds_sum${labels}`, most(seconds(rows) + 0.05)] as const,
    ]);
    const asked = world.model.requests.length;
    const budgets = record.budgets.flatMap((budget) => {
      const { id, spent, reserved, used } = toBudget(budget);
      const [unit, limit] = budget.limit_usd === null ? ['tokens', budget.limit_tokens] : ['usd', budget.limit_usd];
      const labels = `{budget="${id}",scope="workflow",unit="${unit}"}`;
      return [
        [`perdura_budget_limit${labels}`, limit],
        [`perdura_budget_spent${labels}`, spent],
        [`perdura_budget_reserved${labels}`, reserved],
        [`perdura_budget_used_ratio{budget="${id}",scope="workflow"}`, used],
      ] as const;
    });
    return {
      ...Object.fromEntries([...runs, ...tools, ...budgets]),
      'perdura_model_call_duration_seconds_count{model="scripted",outcome="ok"}': asked - FAILED_REQUESTS,
      'perdura_model_call_duration_seconds_count{model="scripted",outcome="failed"}': FAILED_REQUESTS,
      'perdura_model_call_duration_seconds_sum{model="scripted",outcome="ok"}': most(
        seconds(ownSteps().filter((row) => row.ended_at)),
      ),
      'perdura_model_call_duration_seconds_sum{model="scripted",outcome="failed"}': most(
        seconds(ownSteps().filter((row) => row.ended_at)),
      ),
      'perdura_model_tokens_total{model="scripted",kind="input"}': tokens('total_in'),
      'perdura_model_tokens_total{model="scripted",kind="output"}': tokens('total_out'),
      'perdura_model_tokens_total{model="scripted",kind="cache_read"}': tokens('cache_read'),
      'perdura_model_tokens_total{model="scripted",kind="cache_write"}': tokens('cache_write'),
      'perdura_model_cost_dollars_total{model="scripted"}': second.sumOf(ownSteps(), 'cost'),
      'perdura_model_fallbacks_total{reason="quota"}': 1,
      perdura_webhooks_given_up_total: 0,
      perdura_webhooks_pending: record.webhook_deliveries.filter(({ status }) => status === 'pending').length,
      perdura_webhooks_oldest_age_seconds: 0,
      perdura_audit_entries_unsent: unsent,
      perdura_streams_open: 0,
      perdura_stream_bytes_waiting: 0,
      'perdura_source_up{source="database"}': 1,
      'perdura_source_up{source="engine"}': 1,
      'perdura_runs_open{status="waiting",trigger="prompt"}': 1,
      'perdura_runs_open{status="pending",trigger="prompt"}': 0,
      'perdura_runs_open{status="running",trigger="prompt"}': 0,
      'perdura_runs_oldest_age_seconds{status="waiting",trigger="prompt"}': (value) =>
        Math.abs(value - secondsOf(waiting!.created_at, new Date())) < 10,
      'perdura_calls_waiting{reason="approval"}': 1,
      ...Object.fromEntries(
        ['reconciliation', 'answer', 'client'].map((reason) => [`perdura_calls_waiting{reason="${reason}"}`, 0]),
      ),
    };
  };
  /** Series that a load decides, with the test that compares them. */
  const OTHERS = {
    'the engine counts them, approximately: test/temporal/worker-port.test.ts': /^perdura_queue_/,
    'how often text is written depends on the clock: test/unit/meters.test.ts': /^perdura_(text_lag|frame_wait)_seconds_/,
    'also started to read the schema of a tool: test/temporal/worker-port.test.ts': /^perdura_sandbox_starts_total/,
  };

  it('by name and labels', async () => {
    const { series } = await metricsOf(world.url);
    const values = await expected();
    const compared = [...series].filter(
      ([key]) =>
        key.startsWith('perdura_') && !/_bucket\{/.test(key) && !Object.values(OTHERS).some((pattern) => pattern.test(key)),
    );
    const wrong = compared.filter(([key, value]) => {
      const wanted = values[key];
      return typeof wanted === 'function' ? !wanted(value) : wanted === undefined || !isSame(value, wanted);
    });
    expect(wrong.map(([key, value]) => `${key} is ${value}, not ${values[key]}`)).toEqual([]);
    expect(Object.keys(values).filter((key) => !series.has(key))).toEqual([]);
  });
});

import { CROWDED, hash, pickFrom, TIMES } from '../support/database/crowd.ts';
import type { Query, Trial } from '../support/database/statement-results.ts';

export type Row = Record<string, unknown>;

/** Columns whose values a parameter of another name takes. */
const ALIASES: Record<string, readonly string[]> = {
  attempt: ['attempts'],
  seen_attempts: ['attempts'],
  seen_status: ['status'],
  viewer: ['owner', 'created_by'],
  principal: ['principal', 'owner', 'created_by', 'granted_by'],
  owner: ['owner', 'created_by'],
  created_by: ['created_by', 'owner'],
  fork_id: ['task_id'],
  run_id: ['behind_run_id'],
  last_position: ['last_position'],
  provider_id: ['provider_id'],
  session_id: ['session_id'],
  delivery_id: ['delivery_id'],
  kind: ['resource_kind', 'kind'],
  id: ['id', 'resource_id'],
  active_key_id: ['caller_key_id'],
  after_hash: ['hash'],
  from_step: ['step'],
  made_with: ['id', 'made_with'],
  name: ['name', 'key'],
  agent_id: ['agent_id'],
};

const EVENT = { type: 'log', data: { event: 'tested' }, timestamp: '2020-01-01T00:00:00Z' };
const MESSAGE = {
  step: 2,
  position: 9,
  role: 'user',
  kind: 'prompt',
  content: 'new',
  tool_calls: null,
  call_id: null,
  extra: null,
};
const json = (...values: unknown[]) => values.map((value) => JSON.stringify(value));

/** Values that no column has. */
const SPECIAL: Record<string, readonly unknown[]> = {
  events: json([EVENT]),
  event: json({ type: 'message_delta', data: { delta: 'x' }, timestamp: EVENT.timestamp }),
  messages: json([MESSAGE], []),
  message: json([MESSAGE]),
  texts: [0, 0, 0, 1, 2],
  text_bytes: [0, 2, 3, 4],
  texts_after: [0, 3, 6, 9],
  limit: [1, 2, 3, 5, 100],
  most: [1, 2, 3, 5, 100],
  most_open: [null, 3, 4, 5, 6, 12, 15],
  rows: [0, 4, 20],
  bytes: [1, 15, 30, 45, 60, 1_000],
  large: [12, 15, 20, 21, 22, 23, 24, 25, 30, 1_000],
  after: [0, 3, 4, 5, 6, 8, 9, 11, 12, 13],
  epoch: [0, 1, 2, 3, 4, 5, 6, 7],
  seq: [0, 1, 3, 4, 7, 12, 13],
  beat: [6, 7, 8],
  interval: [null, 'hour', 'day'],
  zone: ['UTC'],
  seconds: [60, 30],
  older_than: [59, 60, 61],
  server: json({ s: 1 }),
  words: ["'red'", "'red' | 'dog'"],
  vector: [null, [1, 0], [1, 0.5]],
  embedder: ['e1'],
  source_ids: [null, ['@knowledge_sources-1', '@knowledge_sources-2'], ['@knowledge_sources-0']],
  tags: [null, ['red'], ['blue']],
  admins: [[], ['local:bob']],
  denied: [[], ['1-1'], ['1-2', '2-1']],
  calls: [[], ['1-1'], ['2-1']],
  waits: [['waiting_approval', 'waiting_reconciliation'], ['waiting_client'], ['waiting_answer']],
  names: [['read'], ['write', 'read'], ['stored_tokens one', 'stored_tokens two'], ['stored_tokens three']],
  hashes: [['definitions 0', 'definitions 2']],
  definition_hashes: [
    ['definitions 1', 'definitions 0'],
    ['definitions 2', 'definitions 5', 'definitions 3'],
  ],
  mcp_server_tags: [['red'], ['blue', 'red']],
  knowledge_tags: [['blue'], ['red']],
  skill_tags: [['red'], ['blue']],
  guardrail_tags: [['red', 'blue']],
  mcp_server_ids: [['@mcp_servers-0'], ['@mcp_servers-1']],
  required_mcp_servers: [[], ['@mcp_servers-2']],
  knowledge_source_ids: [[], ['@knowledge_sources-1']],
  skill_ids: [[], ['@skills-1']],
  guardrail_ids: [[], ['@guardrails-1']],
  chunks: [['c']],
  contents: [['red', 'dog']],
  vectors: [['{1,0}', '{0,1}']],
  decision: ['resume', 'fail'],
  outcome_unknown: ['unknown', 'dog'],
  question_id: ['q-1', 'q-2'],
  question: json({ id: 'q-3' }),
  answer: json([{ a: 1 }]),
  reached: [true, false],
  counted: [0, 1],
  step: [1, 2, 3],
  turns: [1, 2],
  status: ['completed', 'failed', 'halted', 'waiting_approval', 'passed', 'error'],
  items: json([
    { id: '@new-1', item: { a: 1 } },
    { id: '@new-2', item: null },
  ]),
  edits: json([
    { step: 1, position: 1, content: 'edited' },
    { step: 2, position: 0, content: 'edited' },
  ]),
  first_position: [0, 1, 2, 1_000],
  wanted: json([
    { id: '@new-1', token_name: 'stored_tokens one', destination: 'there', label: 'l' },
    { id: '@new-2', token_name: 'stored_tokens two', destination: 'elsewhere', label: 'l' },
  ]),
  entries: json([
    {
      id: '@new-1',
      principal: 'p',
      login: 'l',
      operation: 'o',
      scope: 's',
      path: '/',
      resource_type: 't',
      status: 200,
      request_id: 'r',
      address: 'a',
    },
  ]),
  of_kind: [null, null, null, 'approval', 'budget', 'behind'],
  of_task: [null, null, '@tasks-3'],
  of_workflow: [null, null, '@workflows-1'],
  of_agent: [null, null, '@agents-1'],
  of_tool: [null, null, 'read'],
  after_time: [null, '@now-600', '@now+60'],
  after_id: [''],
  graders: json([{}]),
  definition: json({ settings: {} }),
  work: json({ note: 'y' }),
  measured: json([
    { id: '@alerts-0', value: 5 },
    { id: '@alerts-1', value: 6 },
  ]),
  changes: json(
    [
      {
        event_id: '@new-1',
        alert_id: '@alerts-0',
        state: 'firing',
        value: 5,
        threshold: 1,
        muted: false,
        payload: {},
        deliveries: [{ id: '@new-2', channel: 'slack', url: 'u' }],
      },
    ],
    [
      {
        event_id: '@new-1',
        alert_id: '@alerts-1',
        state: 'ok',
        value: 5,
        threshold: 1,
        muted: true,
        payload: {},
        deliveries: [],
      },
    ],
  ),
  kept: [1, 2, 3],
  total_in: [5, 2_147_483_647],
  cache_read: [3, 2_147_483_647],
  cache_write: [2, 2_147_483_647],
  total_out: [7, 2_147_483_647],
  cost: [0.25],
  hash: ['\\x01', 'definitions 1'],
  sealed: ['\\x05'],
  branch: ['events_deltas'],
  // The clock is seven seconds later than the moment.
  interval_ms: [1_000, 13_000, 53_000],
  slack_ms: [0, 40_000, 53_000],
  previous_hours: [24],
  delivered: [true, false],
  duration_ms: [7],
  id: [],
};

const TASK = (n: number, row: Row) =>
  JSON.stringify({
    ...row,
    id: pickFrom(['@new-1', '@new-1', '@tasks-3'], 'id', n),
    created_at: '@now+0',
    workflow_id: pickFrom([row.workflow_id, '@workflows-5', '@workflows-1', '@workflows-6'], 'wf', n),
    definition_hash: pickFrom(['definitions 0', 'definitions 6', 'definitions 2'], 'dh', n),
    attachments: null,
    prompt_parts: null,
  });

/** Proposes values for the parameters of a query: mostly those of one row, so that they belong together. */
export function proposeValues(trial: Trial, known: Map<string, Row[]>, query: Query, n: number): Row {
  const rowsOf = (table: string): Row[] => {
    if (!known.has(table)) known.set(table, trial.rows(table));
    return known.get(table)!;
  };
  const mentioned = CROWDED.filter((table) => new RegExp(`\\b${table}\\b`).test(query.text));
  const reached = mentioned.length > 0 ? mentioned : query.writes;
  const fitting = reached.toSorted((a, b) => countColumns(rowsOf(b)[0], query) - countColumns(rowsOf(a)[0], query));
  const home = n % 2 === 0 ? fitting[0] : reached[hash('home', query.name, n) % Math.max(1, reached.length)];
  const row = home && rowsOf(home).length > 0 ? { ...pickFrom(rowsOf(home), 'row', query.name, n) } : {};
  if (home) row[`${home.replace(/s$/, '')}_id`] ??= row.id;
  const task =
    rowsOf('tasks').find(({ id }) => id === row.task_id) ??
    (row.workflow_id ? undefined : pickFrom(rowsOf('tasks'), 'task', query.name, n));
  row.task_id ??= task?.id;
  row.workflow_id ??= task?.workflow_id;
  const given: Row = {};
  query.parameters.forEach((parameter, index) => {
    given[parameter] = propose(parameter, query.types[index]!, { query, n, row, mentioned: reached, rowsOf });
  });
  if (query.name === 'settle_task') given.status = pickFrom(['completed', 'failed', 'halted'], 'ends', n);
  if ('task' in given) given.task = TASK(n, pickFrom(rowsOf('tasks'), 'row', n));
  if (query.name === 'append_texts')
    given.texts = JSON.stringify(
      [0, 1, 2].map((k) => {
        const step = pickFrom(rowsOf('task_steps'), 'append', n, k);
        const of = rowsOf('tasks').find(({ id }) => id === step.task_id)!;
        return {
          task_id: of.id,
          workflow_id: of.workflow_id,
          step: step.step,
          attempt: step.attempts,
          after: pickFrom([0, 12, 14], 'aft', n, k),
          event: { type: 'message_delta', data: { delta: 'x' }, timestamp: EVENT.timestamp },
        };
      }),
    );
  return given;
}

/** Parameters that name a row of a table, and mostly not the one at hand. */
const TABLES: Record<string, string> = {
  baseline_id: 'evaluations',
  except: 'tasks',
  session_id: 'threads',
};

/** Now and then the value of any row. */
const LOOSE = new Set([
  'created_by',
  'owner',
  'viewer',
  'principal',
  'run_id',
  'last_position',
  'seen_attempts',
  'attempt',
  'seen_status',
  'lease',
  'definition_hash',
  'workflow_id',
  'dataset_id',
]);

function pickLoosely(
  parameter: string,
  mentioned: readonly string[],
  rowsOf: (table: string) => Row[],
  by: (string | number)[],
): unknown {
  const names = [parameter, ...(ALIASES[parameter] ?? [])];
  const table = CROWDED.find((known) => parameter === `${known.replace(/s$/, '')}_id`);
  const values = mentioned
    .flatMap((of) => rowsOf(of).flatMap((row) => names.map((name) => row[name] ?? null)))
    .filter((value) => typeof value !== 'object' || value === null);
  return pickFrom([...new Set([...values, ...(table ? rowsOf(table).map(({ id }) => id) : [])])], 'loosely', ...by);
}

const countColumns = (row: Row | undefined, { parameters }: Query): number =>
  parameters.filter((parameter) => [parameter, ...(ALIASES[parameter] ?? [])].some((name) => row && name in row)).length;

interface Place {
  query: Query;
  n: number;
  row: Row;
  mentioned: readonly string[];
  rowsOf: (table: string) => Row[];
}

function propose(parameter: string, type: string, { query, n, row, mentioned, rowsOf }: Place): unknown {
  const by = [query.name, parameter, n];
  const names = [parameter, ...(ALIASES[parameter] ?? [])];
  if (parameter === 'source_id' && query.text.includes('task_')) names.unshift('task_id');
  const own = names.map((name) => row[name]).find((value) => value !== undefined && value !== null && typeof value !== 'object');
  const is_time = type.startsWith('timestamp');
  const table_of = TABLES[parameter];
  if (type === 'uuid' && table_of)
    return hash('null', ...by) % 5 === 0
      ? null
      : pickFrom([...rowsOf(table_of).map(({ id }) => id), ...(row.task_id ? [row.task_id] : [])], ...by);
  if (type === 'uuid' && query.text.includes('::uuid IS') && hash('absent', ...by) % 4 === 0) return null;
  if (query.name === 'replace_grants' && parameter === 'id') return row.resource_id;
  if (parameter === 'fork_id' && hash('fork', ...by) % 4 > 0) return '@tasks-29';
  if (LOOSE.has(parameter) && query.parameters.indexOf(parameter) === n % (query.parameters.length + 2))
    return pickLoosely(parameter, mentioned, rowsOf, by);
  if (own !== undefined && (!is_time || hash('late', ...by) % 2 === 0) && !type.endsWith('[]') && hash('own', ...by) % 12 > 0)
    return own;
  if (is_time) {
    if (query.name.startsWith('usage'))
      return pickFrom(['2020-01-01T00:00:00Z', '2020-01-02T01:00:00Z', '2020-01-03T00:00:00Z', '2020-01-05T00:00:00Z'], ...by);
    const times = mentioned
      .flatMap((table) => rowsOf(table).map((of) => of[parameter] ?? of.due_at ?? of.completed_at ?? of.superseded_at))
      .filter(Boolean);
    return hash('time', ...by) % 3 === 0 && times.length > 0
      ? pickFrom(times, ...by)
      : `@now${pickFrom(TIMES, ...by) < 0 ? '' : '+'}${pickFrom(TIMES, ...by)}`;
  }
  const special = SPECIAL[parameter];
  if (
    special?.length &&
    (type !== 'jsonb' || special.every((value) => value === null || /^[[{]/.test(String(value)))) &&
    !(type === 'uuid') &&
    (type !== 'bytea' || String(special[0]).startsWith('\\x'))
  )
    return pickFrom(special, ...by);
  if (type === 'uuid[]' || (type === 'text[]' && /ids$/.test(parameter))) {
    const table = CROWDED.find((known) => parameter === `${known.replace(/s$/, '')}_ids`) ?? mentioned[0]!;
    return rowsOf(table)
      .map(({ id }) => id)
      .filter((id) => hash('member', String(id), ...by) % 3 === 0)
      .slice(0, 9)
      .concat(hash('unknown', ...by) % 3 === 0 ? ['@new-3'] : []);
  }
  const pool = mentioned
    .flatMap((table) => rowsOf(table).flatMap((of) => names.map((name) => of[name])))
    .filter((value) => value !== undefined && value !== null && typeof value !== 'object');
  if (type === 'uuid') {
    const table = CROWDED.find((known) => parameter === `${known.replace(/s$/, '')}_id`);
    const ids = [...pool, ...(table ? [table] : mentioned).flatMap((of) => rowsOf(of).map(({ id }) => id)), '@new-1'].filter(
      (id) => /^@/.test(String(id)),
    );
    return hash('null', ...by) % 9 === 0 ? null : pickFrom(ids, ...by);
  }
  if (pool.length > 0 && !type.endsWith('[]') && type !== 'jsonb' && type !== 'bytea')
    return pickFrom([...new Set(pool), ...(type === 'text' ? [null] : [])], ...by);
  if (type === 'jsonb') return pickFrom([null, '{"a":1}'], ...by);
  if (type === 'boolean') return hash(...by) % 2 === 0;
  if (type.endsWith('[]')) return [];
  if (type === 'bytea') return '\\x09';
  if (parameter === 'name') return pickFrom(['read', 'write'], ...by);
  return type === 'text' ? pickFrom(['a', 'b', null], ...by) : pickFrom([0, 1, 2, 3, 5], ...by);
}

import pg from 'pg';

/** The size of the record to fill an installation with. */
export interface Size {
  tasks: number;
  /** The events of each task. */
  events: number;
  weeks: number;
}

/** The owner of the record, and the versions to which the tasks are pinned. */
export interface Owner {
  principal: string;
  login: string;
  dataset_id: string;
}

const ID = (kind: number, at: string) =>
  `overlay(first_task_id(${at})::text PLACING '7000-8${String(kind).padStart(3, '0')}' FROM 15)::uuid`;
const TASK = 0;
const SCORE = 1;
const ITEM = 2;
const EVALUATION = 3;

const ITEMS = 1_000;
const EVALUATIONS = 30;

/** The statuses of 100 tasks; all others are completed. */
const STATUS = `CASE WHEN n % 20 = 7 THEN 'failed' WHEN n % 50 = 9 THEN 'halted' ELSE 'completed' END`;
const ERRORS = `(ARRAY['model_rate_limited', 'model_unavailable', 'budget_exhausted', 'tool_failed', 'context_window', 'invalid_key'])`;
const TOOLS = `(ARRAY['read_invoice', 'search_orders', 'send_letter', 'manage_todo_list', 'convert_currency'])`;

function statements({ tasks, events, weeks }: Size, { principal, login, dataset_id }: Owner): string[] {
  const owner = pg.escapeLiteral(principal);
  const who = pg.escapeLiteral(login);
  const dataset = pg.escapeLiteral(dataset_id);
  const begin = `date_trunc('hour', now()) - interval '168 hours' * ${weeks}`;
  const at = (n: string, of: number) => `(${begin} + ${n} * (interval '168 hours' * ${weeks} / ${of}))`;
  const created = at('n', tasks + 1);
  return [
    `SELECT make_event_partitions(${begin}, now())`,
    `CREATE TEMP TABLE pinned AS SELECT row_number() OVER (ORDER BY v.workflow_id, v.number) - 1 AS place, v.workflow_id, v.definition_hash,
        w.agent_id, w.title, a.name AS agent_name, coalesce(w.model, a.model) AS model
      FROM workflow_versions v JOIN workflows w ON w.id = v.workflow_id JOIN agents a ON a.id = w.agent_id WHERE w.owner = ${owner}`,
    `INSERT INTO tasks (id, workflow_id, owner, owner_login, definition_hash, agent_id, agent_name, workflow_title, model, prompt, trigger, status,
        response, error, error_code, turns, steps, total_in, total_out, cost, created_at, started_at, completed_at)
      SELECT ${ID(TASK, created)}, p.workflow_id, ${owner}, ${who}, p.definition_hash, p.agent_id, p.agent_name, p.title, p.model,
        format('Please read invoice %s of customer c%s and tell me what is still to be paid before %s', n, n % 500, ${created}::date),
        CASE WHEN n % 10 = 0 THEN 'schedule' WHEN n % 33 = 0 THEN 'api' ELSE 'prompt' END, ${STATUS},
        to_jsonb(format('The customer c%s has paid %s of %s. ', n % 500, n % 97, n % 193) || repeat('The letter is on its way. ', 12)),
        CASE WHEN n % 20 = 7 THEN format('The model refused request %s', n) END,
        CASE WHEN n % 20 = 7 THEN ${ERRORS}[1 + (n / 20) % 6] WHEN n % 50 = 9 THEN 'halted' END,
        2, 3, 500 + n % 4000, 100 + n % 700, (n % 1000) * 0.0004, ${created}, ${created} + interval '200 ms',
        ${created} + interval '1 second' * (2 + n % 240)
      FROM generate_series(1, ${tasks}) n JOIN pinned p ON p.place = (n * 7919::bigint) % (SELECT count(*) FROM pinned)`,
    `UPDATE tasks SET status = 'waiting', completed_at = NULL, response = NULL, error = NULL, error_code = NULL
      WHERE id IN (SELECT id FROM tasks WHERE status = 'completed' ORDER BY id DESC LIMIT 20)`,
    `UPDATE workflows w SET last_task_id = t.id, last_task_status = t.status, last_task_at = t.created_at, status = t.status, task_count = t.total
      FROM (SELECT DISTINCT ON (workflow_id) workflow_id, id, status, created_at, count(*) OVER (PARTITION BY workflow_id) AS total
        FROM tasks ORDER BY workflow_id, id DESC) t WHERE t.workflow_id = w.id`,
    `INSERT INTO task_steps (task_id, step, model, attempts, total_in, total_out, cost, started_at, ended_at)
      SELECT id, s, model, 1, total_in / 3, total_out / 3, cost / 3, started_at + s * interval '500 ms', started_at + s * interval '900 ms'
      FROM tasks, generate_series(1, 3) s`,
    `INSERT INTO tool_calls (task_id, call_id, step, position, name, arguments, effect, status, attempts, failed, duration_ms, started_at, ended_at)
      SELECT t.id, s || '-1', s, 1, ${TOOLS}[1 + (row_number() OVER (ORDER BY t.id)) % 5], '{"number": 4711}', 'read',
        CASE WHEN t.status = 'waiting' AND s = 2 THEN 'waiting_approval' ELSE 'done' END, 1, s = 2 AND t.total_in % 17 = 0,
        40 + t.total_in % 900, t.started_at + s * interval '900 ms', t.started_at + s * interval '950 ms'
      FROM tasks t, generate_series(1, 2) s`,
    `INSERT INTO task_messages (task_id, step, position, role, kind, content, tool_calls, call_id)
      SELECT id, m / 2, m % 2, CASE WHEN m = 0 THEN 'user' WHEN m % 2 = 0 THEN 'assistant' ELSE 'tool' END,
        CASE WHEN m = 0 THEN 'prompt' WHEN m % 2 = 0 THEN 'reply' ELSE 'result' END, repeat('The invoice is paid in part. ', 10),
        CASE WHEN m IN (2, 4) THEN jsonb_build_array(jsonb_build_object('call_id', m / 2 || '-1', 'name', 'read_invoice', 'arguments', '{}')) END,
        CASE WHEN m % 2 = 1 THEN m / 2 || '-1' END
      FROM tasks, unnest(ARRAY[0, 2, 3, 4, 5, 6]) m`,
    `INSERT INTO event_sequences SELECT workflow_id, count(*) * ${events} FROM tasks GROUP BY 1
      ON CONFLICT (workflow_id) DO UPDATE SET last_seq = excluded.last_seq`,
    `INSERT INTO events (workflow_id, seq, task_id, type, data, timestamp)
      SELECT workflow_id, ${events} * (place - 1) + s, id, CASE WHEN s = ${events} THEN 'status' WHEN s % 3 = 0 THEN 'message_delta' ELSE 'log' END,
        CASE
          WHEN s % 3 = 0 AND s < ${events} THEN '{"delta": "Some words. "}'::jsonb
          WHEN s = ${events} THEN jsonb_build_object('status', status, 'current_turn', 2, 'task_id', id)
          ELSE '{"event": "model_call", "detail": "The text of an event, as long as usual."}' END, created_at
      FROM (SELECT *, row_number() OVER (PARTITION BY workflow_id ORDER BY id) AS place FROM tasks) t, generate_series(1, ${events}) s`,
    `INSERT INTO task_scores (id, task_id, thumb, created_by)
      SELECT ${ID(SCORE, at('n', tasks))}, ${ID(TASK, created)}, CASE WHEN n % 3 = 0 THEN 'down' ELSE 'up' END, ${owner}
      FROM generate_series(1, ${tasks}, 10) n`,
    `INSERT INTO dataset_items (id, dataset_id, prompt, expected, created_by)
      SELECT ${ID(ITEM, at('n', ITEMS))}, ${dataset}, 'Read invoice ' || n, to_jsonb('Paid ' || n), ${owner} FROM generate_series(1, ${ITEMS}) n`,
    `INSERT INTO evaluations (id, dataset_id, workflow_id, workflow_title, definition_hash, graders, effects, parallel, status, items, passed, failed,
        created_by, owner_login, created_at, completed_at, baseline_id)
      SELECT ${ID(EVALUATION, at('n', EVALUATIONS + 1))}, ${dataset}, p.workflow_id, p.title, p.definition_hash, '[{"type": "exact"}]', 'stub', 4,
        'completed', ${ITEMS}, ${ITEMS} * 0.9, ${ITEMS} * 0.1, ${owner}, ${who}, ${at('n', EVALUATIONS + 1)}, ${at('n', EVALUATIONS + 1)},
        CASE WHEN n > 1 THEN ${ID(EVALUATION, at('(n - 1)', EVALUATIONS + 1))} END
      FROM generate_series(1, ${EVALUATIONS}) n JOIN pinned p ON p.place = n % 3`,
    `INSERT INTO evaluation_results (evaluation_id, item_id, task_id, status, grades, ended_at)
      SELECT e.id, i.id, ${ID(TASK, at('(1 + i.n * 17)', tasks + 1))}, CASE WHEN (i.n + e.n) % 10 = 0 THEN 'failed' ELSE 'passed' END,
        '[{"grader": "exact", "passed": true, "reason": null}]', e.created_at
      FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM evaluations) e,
        (SELECT id, row_number() OVER (ORDER BY id) AS n FROM dataset_items) i`,
    'VACUUM ANALYZE',
  ];
}

/** Fills a database with tasks of one owner and everything that belongs to them. */
export async function fillRecord(database_url: string, size: Size, owner: Owner): Promise<void> {
  const client = new pg.Client(database_url);
  await client.connect();
  try {
    for (const text of statements(size, owner)) await client.query(text);
  } finally {
    await client.end();
  }
}

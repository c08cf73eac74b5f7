import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../src/store/database/database.ts';
import { agedRecords, daysAgo } from '../support/database/aged.ts';
import { openTestDatabase } from '../support/database/database.ts';
import { allStatements } from '../support/database/statements.ts';

let database: Database;
let filled: Set<string>;
const OF_RETENTION = ['retention', 'event-partitions', 'audit', 'attachments'].map((name) => `/${name}.sql.ts`);
const statements = (await allStatements()).filter(({ file }) => OF_RETENTION.some((end) => file.endsWith(end)));

/** Rows of each of the tables that grow with every run. */
const TASKS = 20_000;
const GROWING = [
  ...['definitions', 'events', 'idempotency_keys', 'memories', 'schedule_fires', 'secret_grants', 'task_messages', 'task_steps'],
  ...['tasks', 'token_uses', 'tool_calls', 'webhook_attempts', 'webhook_deliveries', 'workflows'],
  ...['audit_entries', 'browser_sessions', 'mcp_sign_in_attempts', 'attachments', 'task_attachments'],
  ...['conversation_items', 'conversation_files', 'threads'],
];

/** Ids that grow with `n`, as those of new records do. */
const ID = `lpad(to_hex(1600000000000 + n), 12, '0') || '7000800000000000' || lpad(to_hex(n % 65536), 4, '0')`;
const FILL = [
  `INSERT INTO definitions (hash, body) SELECT md5(n::text) || md5(n::text), '{}' FROM generate_series(1, ${TASKS}) n`,
  `INSERT INTO workflows (id, agent_id, owner, owner_login, single_use)
    SELECT (${ID})::uuid, (SELECT id FROM agents LIMIT 1), 'o', 'o', n % 2 = 0 FROM generate_series(1, ${TASKS}) n`,
  `INSERT INTO threads (id, owner, owner_login, workflow_id) SELECT id, 'o', 'o', id FROM workflows`,
  `INSERT INTO tasks (id, workflow_id, thread_id, owner, owner_login, prompt, definition_hash, agent_id, agent_name, status, completed_at)
    SELECT (${ID})::uuid, (${ID})::uuid, (${ID})::uuid, 'o', 'o', 'p', md5(n::text) || md5(n::text), (${ID})::uuid, 'a', 'completed',
      now() - make_interval(mins => n) FROM generate_series(1, ${TASKS}) n`,
  `INSERT INTO events (workflow_id, seq, task_id, type, data, timestamp)
    SELECT id, s, id, CASE WHEN s > 3 THEN 'message_delta' ELSE 'log' END, '{"delta": "text"}', completed_at FROM tasks, generate_series(1, 10) s`,
  `INSERT INTO task_steps (task_id, step) SELECT id, s FROM tasks, generate_series(1, 3) s`,
  `INSERT INTO task_messages (task_id, step, position, role, kind, content) SELECT id, s, 0, 'r', 'k', 'c' FROM tasks, generate_series(1, 3) s`,
  `INSERT INTO tool_calls (task_id, call_id, step, position, name, arguments, effect) SELECT id, '1', 1, 1, 'n', '{}', 'read' FROM tasks`,
  `INSERT INTO attachments (id, name, media_type, size, sha256, content, created_by) SELECT id, 'n', 'm', 1, 'h', 'x', 'o' FROM tasks`,
  `INSERT INTO task_attachments (task_id, position, attachment_id) SELECT id, 1, id FROM tasks`,
  `INSERT INTO conversation_items (id, thread_id, position, item, created_by) SELECT id, id, 1, '{}', 'o' FROM tasks`,
  `INSERT INTO conversation_files (item_id, attachment_id) SELECT id, id FROM tasks`,
  `INSERT INTO webhook_deliveries (id, task_id, url, payload, status) SELECT id, id, 'u', '{}', 'delivered' FROM tasks`,
  `INSERT INTO webhook_attempts (delivery_id, attempt) SELECT id, 1 FROM tasks`,
  `INSERT INTO token_uses (id, token_name, principal, purpose, task_id, granted) SELECT id, 't', 'p', 'x', id, true FROM tasks`,
  `INSERT INTO secret_grants (id, token_name, granted_by, resource_kind, resource_id, destination, destination_label, superseded_at)
    SELECT id, 't', 'o', 'k', id, 'd', 'l', completed_at FROM tasks`,
  `INSERT INTO schedule_fires (scheduled_agent_id, due_at, outcome)
    SELECT s.id, t.completed_at, 'started' FROM scheduled_agents s, tasks t`,
  `INSERT INTO memories (id, agent_id, scope, workflow_id, key, value, created_by) SELECT id, agent_id, 'session', id::text, 'k', 'v', 'o' FROM tasks`,
  `INSERT INTO audit_entries (id, at, principal, login, operation, scope, path, resource_type, status, request_id, address)
    SELECT id, completed_at, 'o', 'o', 'p', 'run', '/', 'tasks', 200, 'r', 'a' FROM tasks`,
  `INSERT INTO browser_sessions (hash, provider, subject, login, expires_at)
    SELECT decode(md5(id::text), 'hex'), 'p', 's', 'l', completed_at FROM tasks`,
  `INSERT INTO mcp_servers (id, name, transport_type, created_by) VALUES (gen_random_uuid(), 's', 'http', 'o')`,
  `INSERT INTO mcp_sign_in_attempts (hash, server_id, principal, session_hash, sealed, key_id, expires_at)
    SELECT decode(md5(id::text), 'hex'), (SELECT id FROM mcp_servers), 'p', '', '', 'k', completed_at FROM tasks`,
  `INSERT INTO idempotency_keys (principal, key, request_hash, created_at) SELECT 'p', id::text, 'h', completed_at FROM tasks`,
];

beforeAll(async () => {
  database = await openTestDatabase();
  await agedRecords(database).schedule(daysAgo(1));
  for (const text of FILL) await database.pool.query(text);
  await database.pool.query('ANALYZE');
  const { rows } = await database.pool.query('SELECT relname AS name FROM pg_class WHERE reltuples > 0');
  filled = new Set(rows.map(({ name }) => name));
}, 120_000);
afterAll(() => database.close());

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  Plans?: PlanNode[];
}

const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** The plan of a statement for values that are not known yet, which the embedded server always uses. */
async function planOf({ name, text }: { name: string; text: string }): Promise<PlanNode> {
  const connection = await database.pool.connect();
  try {
    await connection.query('SET plan_cache_mode = force_generic_plan');
    await connection.query(`PREPARE ${name} AS ${text}`);
    const [parameters] = (await connection.query('SELECT parameter_types FROM pg_prepared_statements WHERE name = $1', [name]))
      .rows;
    const nulls = parameters.parameter_types
      .replace(/^\{|\}$/g, '')
      .split(',')
      .filter(Boolean)
      .map(() => 'NULL');
    const given = nulls.length > 0 ? `(${nulls.join(', ')})` : '';
    const { rows } = await connection.query(`EXPLAIN (FORMAT JSON) EXECUTE ${name}${given}`);
    return rows[0]['QUERY PLAN'][0].Plan;
  } finally {
    await connection.query('RESET ALL');
    await connection.query('DEALLOCATE ALL');
    connection.release(true);
  }
}

/** Of a partitioned table, a partition that is read as a whole counts unless it is empty. */
const readWhole = (plan: PlanNode): string[] => {
  const whole = nodesOf(plan).filter((node) => node['Node Type'] === 'Seq Scan' && filled.has(node['Relation Name'] ?? ''));
  const tableOf = (name = '') => GROWING.find((table) => `${name}_`.startsWith(`${table}_`));
  return [...new Set(whole.map((node) => tableOf(node['Relation Name'])))].filter((table) => table !== undefined);
};

describe('with large tables', () => {
  it('every growing table is large here', async () => {
    for (const table of GROWING) {
      const { rows } = await database.pool.query(`SELECT count(*)::int AS n FROM ${table}`);
      expect(rows[0].n, table).toBeGreaterThanOrEqual(TASKS);
    }
  });

  it('a statement that reads a whole table is noticed', async () => {
    expect(readWhole(await planOf({ name: 'whole', text: `DELETE FROM events WHERE data ->> 'x' = $1` }))).toEqual(['events']);
  });

  it('every statement of retention is tried', () => {
    expect(statements.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['remove_tasks', 'remove_threads', 'remove_audit']),
    );
  });

  for (const listed of statements)
    it(`${listed.name} reads no growing table as a whole`, async () => {
      expect(readWhole(await planOf(listed))).toEqual([]);
    });

  it('every foreign key to a table whose rows are removed has an index', async () => {
    const { rows } = await database.pool.query(
      `SELECT c.conrelid::regclass::text AS table, a.attname AS column FROM pg_constraint c
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
        WHERE c.contype = 'f' AND c.confrelid::regclass::text = ANY ($1)
          AND NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.conrelid AND i.indkey[0] = c.conkey[1])`,
      [GROWING],
    );
    expect(rows).toEqual([]);
  });
});

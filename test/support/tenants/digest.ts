import pg from 'pg';

/** Tables without owned rows, with only the audit trail, or with sums that any reader brings up to date. */
const NOBODYS = new Set(
  [
    '_prisma_migrations principals definitions provider_rates named_windows model_catalogue',
    'token_uses idempotency_keys installation_facts grant_keys',
    'usage_runs usage_calls audit_entries audit_queue worker_beats',
  ].flatMap((line) => line.split(' ')),
);

const TASKS = 'SELECT id FROM tasks WHERE owner = $1';
const ALERTS = 'SELECT id FROM alerts WHERE owner = $1';
const ALERT_EVENTS = `SELECT id FROM alert_events WHERE alert_id IN (${ALERTS})`;

/** The columns that determine the owner of a row; the first match counts. */
const OWNING: [column: string, rows: string][] = [
  ['owner', '= $1'],
  ['created_by', '= $1'],
  ['granted_by', '= $1'],
  ['subject', "= substr($1, strpos($1, ':') + 1)"],
  ['alert_id', `IN (${ALERTS})`],
  ['alert_event_id', `IN (${ALERT_EVENTS}) OR t.task_id IN (${TASKS})`],
  ['task_id', `IN (${TASKS})`],
  ['budget_id', 'IN (SELECT id FROM budgets WHERE created_by = $1)'],
  ['evaluation_id', 'IN (SELECT id FROM evaluations WHERE created_by = $1)'],
  ['workflow_id', 'IN (SELECT id FROM workflows WHERE owner = $1)'],
  ['attachment_id', 'IN (SELECT id FROM attachments WHERE created_by = $1)'],
  ['item_id', 'IN (SELECT id FROM knowledge_items WHERE created_by = $1)'],
  ['delivery_id', `IN (SELECT id FROM webhook_deliveries WHERE task_id IN (${TASKS}) OR alert_event_id IN (${ALERT_EVENTS}))`],
  ['principal', '= $1'],
  ['thread_id', 'IN (SELECT id FROM threads WHERE owner = $1)'],
  ['scheduled_agent_id', 'IN (SELECT id FROM scheduled_agents WHERE owner = $1)'],
];

/** Selects a row without the columns that no owner controls: the usage sums mark tasks, and the installation measures alerts. */
const ROW = "(to_jsonb(t) - '{usage_counted,measured_at,last_value}'::text[])::text";

export interface Digest {
  /** Returns a hash per table of all rows that a principal owns. */
  of(principal: string): Promise<Record<string, string>>;
  close(): Promise<void>;
}

/** Opens the digest; throws for a table without an ownership rule, which must be added. */
export async function openDigest(database_url: string): Promise<Digest> {
  const pool = new pg.Pool({ connectionString: database_url, max: 2 });
  const { rows } = await pool.query<{ name: string; columns: string[] }>(
    `SELECT table_name AS name, array_agg(column_name::text) AS columns FROM information_schema.columns
     WHERE table_schema = 'public' GROUP BY table_name`,
  );
  const parts = rows
    .filter(({ name }) => !NOBODYS.has(name))
    .map(({ name, columns }) => {
      const [column, condition] = OWNING.find(([candidate]) => columns.includes(candidate)) ?? [];
      if (!column) throw new Error(`The tenant matrix does not know whose the rows of ${name} are: add it to OWNING or NOBODYS`);
      return `SELECT '${name}' AS name, md5(coalesce(string_agg(${ROW}, '|' ORDER BY ${ROW}), '')) AS hash FROM ${name} t WHERE t.${column} ${condition}`;
    });
  return {
    async of(principal) {
      const found = await pool.query<{ name: string; hash: string }>(parts.join(' UNION ALL '), [principal]);
      return Object.fromEntries(found.rows.map(({ name, hash }) => [name, hash]));
    },
    close: () => pool.end(),
  };
}

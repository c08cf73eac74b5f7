import type pg from 'pg';
import { openConnection } from '../database/reachable.ts';
import { STORED_BYTES, STORED_BYTES_OF } from '../people/quotas.sql.ts';
import { CALL_DEFINITION } from '../resources/definitions.sql.ts';

/**
 * The rights of the role that calls tools, by table. It has none to access tokens of callers and schedules and
 * webhook secrets, and none to change agents, providers, tokens or grants.
 */
const PRIVILEGES: Record<string, readonly string[]> = {
  // Needed at the start: the schema, the check of the keys, and the mark of a restore.
  _prisma_migrations: ['SELECT'],
  installation_facts: ['SELECT'],
  model_catalogue: ['SELECT'],
  // What each worker reports of itself. Postgres asks for SELECT of what a repeated report replaces.
  worker_beats: ['SELECT (id, slots, used, disk_free, seen_at)', 'INSERT', 'UPDATE', 'DELETE'],
  // Needed for the run of a call. Writing its status parks and resumes it.
  tasks: [
    `SELECT (${[
      ...[
        'id',
        'workflow_id',
        'owner',
        'owner_login',
        'definition_hash',
        'status',
        'turns',
        'toolset',
        'halt_requested',
        'created_at',
      ],
      ...['restored_at', 'record_behind', 'behind_run_id', 'continuity', 'forked_from', 'fork_step', 'fork_effects'],
      ...['response', 'error', 'waiting_since'],
    ].join(', ')})`,
    'UPDATE (status, waiting_since, todos, record_behind, behind_run_id, continuity)',
  ],
  workflows: ['SELECT (id, owner, active_task_id, status)', 'UPDATE (status)'],
  definitions: ['SELECT (hash)'],
  tool_calls: ['SELECT', 'UPDATE'],
  task_messages: ['SELECT', 'INSERT'],
  // Needed for the files that tools return. The contents of files cannot be read.
  attachments: ['SELECT (id, name, media_type, size, sha256)', 'INSERT'],
  task_attachments: ['SELECT', 'INSERT', 'UPDATE (attachment_id)'],
  workspace_layers: ['SELECT', 'INSERT', 'DELETE'],
  // Needed for tools that grade answers of an evaluation.
  custom_tools: ['SELECT'],
  evaluations: ['SELECT (id, graders, definition_hash, workflow_id, created_by, owner_login, service_key_id)'],
  evaluation_results: ['SELECT', 'UPDATE (grading)'],
  dataset_items: ['SELECT'],
  event_sequences: ['SELECT', 'INSERT', 'UPDATE'],
  events: ['INSERT'],
  // Needed for the stored tokens of tools. A policy hides the others.
  stored_tokens: ['SELECT'],
  secret_grants: ['SELECT'],
  grant_keys: ['SELECT'],
  token_uses: ['SELECT', 'INSERT'],
  principals: ['SELECT'],
  // Needed for sign-ins at the MCP servers whose tools are called. Renewed tokens replace the previous ones.
  mcp_sign_ins: ['SELECT', 'UPDATE (sealed, key_id, expires_at, renews, lease, leased_until)', 'DELETE'],
  // Needed for the built-in tools that read memories and knowledge.
  memories: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  knowledge_sources: ['SELECT'],
  knowledge_items: ['SELECT'],
  knowledge_chunks: ['SELECT'],
};

const SEQUENCES = ['workspace_layers_number_seq'];

/** The rows that the role may read and write; a policy hides the others. */
const ROWS: Record<string, string> = {
  // The tokens that their owner granted to a tool, a connection or a workflow: anyone may write a token's name into a resource.
  stored_tokens: `EXISTS (SELECT 1 FROM secret_grants g WHERE g.token_name = stored_tokens.name
    AND g.granted_by = stored_tokens.created_by AND g.resource_kind <> 'provider')`,
  // The results of tools, which forks repeat. Tools must not see prompts and replies of models.
  task_messages: `role = 'tool'`,
};

/** Functions that give the role a part of what it may not read. They run with the rights of the tables' owner. */
const FUNCTIONS: Record<string, { returns: string; query: string }> = {
  // A pinned definition without the parts for models and others: instructions, skills, guardrails and webhooks.
  [`${CALL_DEFINITION}(text)`]: {
    returns: 'jsonb',
    query: `SELECT d.body - '{guardrails,output_schema}'::text[] || jsonb_build_object('skills', '[]'::jsonb,
      'webhooks', '{"completed": null, "error": null}'::jsonb, 'agent', d.body -> 'agent' || '{"system_prompt": ""}'::jsonb)
      FROM definitions d WHERE d.hash = $1`,
  },
  // The number of bytes that a principal has stored, for the limit on what their tools may store.
  [`${STORED_BYTES_OF}(text)`]: { returns: 'float8', query: STORED_BYTES.replaceAll(':created_by', '$1') },
};

/**
 * Returns the statements that create the functions for workers of the role. They refer only to the tables of the current schema.
 */
export const functionsForTools = (): string[] =>
  Object.entries(FUNCTIONS).map(
    ([signature, { returns, query }]) =>
      `CREATE OR REPLACE FUNCTION ${signature} RETURNS ${returns} LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
        AS $$ ${query} $$`,
  );

/**
 * Grants an existing role of the server the rights that a worker with the role `tools` needs in this database, and nothing else.
 * Throws a sentence if there is no such role, or if nothing could be refused to it.
 */
export async function grantToToolsRole(url: string, name: string): Promise<void> {
  const client = await openConnection(url, 'perdura migrations');
  try {
    await requireRole(client, name);
    await client.query(`BEGIN; ${(await buildStatements(client, name)).join(';\n')}`);
    await refuseCreator(client, name);
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
}

async function requireRole(client: pg.Client, name: string): Promise<void> {
  const { rows } = await client.query<{ unrestricted: boolean }>(
    `SELECT rolsuper OR rolbypassrls OR pg_has_role(rolname, (SELECT tableowner FROM pg_tables WHERE tablename = 'stored_tokens'
       AND schemaname = current_schema()), 'MEMBER') AS unrestricted FROM pg_roles WHERE rolname = $1`,
    [name],
  );
  if (!rows[0])
    throw new Error(`The database server has no role ${name}; create it first: CREATE ROLE ${name} LOGIN PASSWORD '…'`);
  if (rows[0].unrestricted)
    throw new Error(
      `The role ${name} may read everything, as a superuser or owner of the tables; name a separate role for tools`,
    );
}

/**
 * Throws if the role may create objects. Only the owner of the schema can revoke this right from everyone, and the role may have
 * it from another role.
 */
async function refuseCreator(client: pg.Client, name: string): Promise<void> {
  const { rows } = await client.query<{ schema: string; creates: boolean }>(
    `SELECT current_schema() AS schema, has_schema_privilege($1, current_schema(), 'CREATE') AS creates`,
    [name],
  );
  const { schema, creates } = rows[0]!;
  if (creates)
    throw new Error(
      `The role ${name} may create tables and functions in the schema ${schema}, as everyone may or by a role that it belongs to; ` +
        `take that right away as the owner of the schema, such as: REVOKE CREATE ON SCHEMA ${schema} FROM PUBLIC`,
    );
}

async function buildStatements(client: pg.Client, name: string): Promise<string[]> {
  const role = client.escapeIdentifier(name);
  const { rows } = await client.query<{ schema: string }>('SELECT current_schema() AS schema');
  const schema = client.escapeIdentifier(rows[0]!.schema);
  const policy = client.escapeIdentifier(`granted_to_tools_of_${name}`.slice(0, 63));
  return [
    // Also revokes rights that an earlier version granted and this one does not need.
    `REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM ${role}`,
    // Up to Postgres 14, and in databases upgraded from there, everyone may create objects, which other roles could be made to
    // use.
    `REVOKE CREATE ON SCHEMA ${schema} FROM PUBLIC, ${role}`,
    `GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
    ...Object.entries(PRIVILEGES).map(([table, privileges]) => `GRANT ${privileges.join(', ')} ON ${table} TO ${role}`),
    ...SEQUENCES.map((sequence) => `GRANT USAGE ON SEQUENCE ${sequence} TO ${role}`),
    ...functionsForTools(),
    ...Object.keys(FUNCTIONS).flatMap((signature) => [
      `REVOKE ALL ON FUNCTION ${signature} FROM PUBLIC`,
      `GRANT EXECUTE ON FUNCTION ${signature} TO ${role}`,
    ]),
    ...Object.entries(ROWS).flatMap(([table, condition]) => [
      `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`,
      `DROP POLICY IF EXISTS everyone ON ${table}`,
      `CREATE POLICY everyone ON ${table} USING (true) WITH CHECK (true)`,
      `DROP POLICY IF EXISTS ${policy} ON ${table}`,
      `CREATE POLICY ${policy} ON ${table} AS RESTRICTIVE TO ${role} USING (${condition})`,
    ]),
  ];
}

import { statement } from '../database/statement.ts';
import { LIVE } from '../runs/runs.sql.ts';

/** Text columns that principals fill, by table. Only lengths are read. test/api/stored-texts.test.ts compares them with the database. */
export const STORED_TEXTS: Record<string, readonly string[]> = {
  agents: [
    ...['name', 'description', 'system_prompt', 'model', 'mcp_server_ids', 'mcp_server_tags', 'custom_tool_ids', 'builtin_tools'],
    ...['tool_definitions', 'knowledge_source_ids', 'knowledge_tags', 'approval_tools', 'approval_guards', 'approve_effects'],
    ...['required_mcp_servers', 'fallbacks'],
  ],
  attachments: ['name', 'media_type', 'sha256', 'content'],
  conversation_items: ['item'],
  custom_tools: ['name', 'description', 'source_code', 'parameters_schema', 'tags', 'env_config', 'effect'],
  dataset_items: ['prompt', 'expected', 'calls'],
  datasets: ['name', 'description'],
  guardrails: ['name', 'description', 'guardrail_type', 'tags', 'config'],
  knowledge_items: ['name', 'description', 'content_type', 'content', 'tags', 'metadata', 'status', 'last_error'],
  knowledge_sources: ['name', 'description', 'source_type', 'connection_config', 'tags', 'status', 'last_error'],
  mcp_servers: [
    ...[
      'name',
      'description',
      'transport_type',
      'protocol',
      'connection_config',
      'allowed_tools',
      'tags',
      'paths',
      'status',
      'last_error',
    ],
  ],
  memories: ['scope', 'workflow_id', 'owner', 'key', 'value', 'metadata'],
  providers: [
    ...['name', 'description', 'provider_type', 'api_key_token_name', 'base_url', 'auth_type', 'azure_api_version'],
    ...['azure_deployment', 'default_model', 'price_table', 'fallbacks'],
  ],
  skills: ['name', 'description', 'instructions', 'tags'],
  stored_tokens: ['name', 'description', 'sealed', 'key_id', 'fingerprint'],
  task_scores: ['thumb', 'note'],
};

/** Columns whose length is stored in another column of their row: counting does not read them, and needs no right to. */
const SIZE_OF: Record<string, string> = { 'attachments.content': 'size' };

const sums = Object.entries(STORED_TEXTS).map(([table, columns]) => {
  const sizes = columns.map((column) => `(${SIZE_OF[`${table}.${column}`] ?? `octet_length(${column}::text)`})`).join(', ');
  return `SELECT sum(length) AS bytes FROM ${table}, LATERAL (VALUES ${sizes}) AS texts (length) WHERE created_by = :created_by`;
});

export const STORED_BYTES = `SELECT coalesce(sum(bytes), 0)::float8 AS bytes FROM (${sums.join(' UNION ALL ')}) t`;

export const storedBytes = statement('stored_bytes', ['created_by'], STORED_BYTES);

/** A database function for the role of tools workers (../upkeep/tools-role.ts), which may not read the texts that are counted. */
export const STORED_BYTES_OF = 'stored_bytes_of';

export const storedBytesOf = statement('stored_bytes_of', ['created_by'], `SELECT ${STORED_BYTES_OF}(:created_by) AS bytes`);

export const openTasks = statement(
  'open_tasks',
  ['owner', 'most'],
  `SELECT count(*)::int AS open FROM (SELECT 1 FROM tasks WHERE owner = :owner AND status IN (${LIVE}) LIMIT :most) t`,
);

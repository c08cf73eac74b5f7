import type pg from 'pg';
import { row } from './database.ts';
import { LIVE } from './statements/runs.ts';

/** Texts that principals store, by table and without whose they are. Only their lengths are read. test/api/stored-texts.test.ts compares them with the database. */
export const STORED_TEXTS: Record<string, readonly string[]> = {
  agents: [
    ...['name', 'description', 'system_prompt', 'model', 'mcp_server_ids', 'mcp_server_tags', 'custom_tool_ids', 'builtin_tools'],
    ...['tool_definitions', 'knowledge_source_ids', 'knowledge_tags', 'approval_tools', 'required_mcp_servers'],
  ],
  custom_tools: ['name', 'description', 'source_code', 'parameters_schema', 'tags', 'env_config', 'effect'],
  guardrails: ['name', 'description', 'guardrail_type', 'tags', 'config'],
  knowledge_items: ['name', 'description', 'content_type', 'content', 'tags', 'metadata', 'status', 'last_error'],
  knowledge_sources: ['name', 'description', 'source_type', 'connection_config', 'tags', 'status', 'last_error'],
  mcp_servers: [
    ...['name', 'description', 'transport_type', 'connection_config', 'allowed_tools', 'tags', 'paths', 'status', 'last_error'],
  ],
  memories: ['scope', 'workflow_id', 'key', 'value', 'metadata'],
  providers: [
    ...['name', 'description', 'provider_type', 'api_key_token_name', 'base_url', 'auth_type', 'azure_api_version'],
    ...['azure_deployment', 'default_model', 'price_table'],
  ],
  skills: ['name', 'description', 'instructions', 'tags'],
  stored_tokens: ['name', 'description', 'sealed', 'key_id', 'fingerprint'],
};

const sums = Object.entries(STORED_TEXTS).map(([table, columns]) => {
  const size = columns.map((column) => `coalesce(octet_length(${column}::text), 0)`).join(' + ');
  return `SELECT sum(${size}) AS bytes FROM ${table} WHERE created_by = $1`;
});

const STORED = {
  name: 'stored_bytes',
  text: `SELECT coalesce(sum(bytes), 0)::float8 AS bytes FROM (${sums.join(' UNION ALL ')}) t`,
};

const OPEN_TASKS = {
  name: 'open_tasks',
  text: `SELECT count(*)::int AS open FROM (SELECT 1 FROM tasks WHERE owner = $1 AND status IN (${LIVE}) LIMIT $2) t`,
};

export const quotaStore = (pool: pg.Pool) => ({
  /** Bytes of text that someone has stored. */
  async storedBytes(created_by: string): Promise<number> {
    return (await row<{ bytes: number }>(pool, STORED, [created_by]))?.bytes ?? 0;
  },
  /** Tasks of someone that have not ended; counted up to `most`. */
  async openTasks(owner: string, most: number): Promise<number> {
    return (await row<{ open: number }>(pool, OPEN_TASKS, [owner, most]))?.open ?? 0;
  },
});

export type QuotaStore = ReturnType<typeof quotaStore>;

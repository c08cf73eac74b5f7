import type pg from 'pg';
import { row } from './database.ts';
import { LIVE } from './statements/runs.ts';

/** Texts that principals store, by table. Only their lengths are read. */
const STORED_TEXTS: Record<string, readonly string[]> = {
  agents: ['system_prompt', 'tool_definitions'],
  custom_tools: ['source_code', 'parameters_schema'],
  guardrails: ['config'],
  knowledge_items: ['content'],
  knowledge_sources: ['connection_config'],
  mcp_servers: ['connection_config'],
  memories: ['value'],
  providers: ['price_table'],
  skills: ['instructions'],
  stored_tokens: ['sealed'],
};

const sums = Object.entries(STORED_TEXTS)
  .filter(([, columns]) => columns.length > 0)
  .map(([table, columns]) => {
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

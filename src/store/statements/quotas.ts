import { statement } from '../statement.ts';
import { LIVE } from './runs.ts';

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
    return `SELECT sum(${size}) AS bytes FROM ${table} WHERE created_by = :created_by`;
  });

export const storedBytes = statement(
  'stored_bytes',
  ['created_by'],
  `SELECT coalesce(sum(bytes), 0)::float8 AS bytes FROM (${sums.join(' UNION ALL ')}) t`,
);

export const openTasks = statement(
  'open_tasks',
  ['owner', 'most'],
  `SELECT count(*)::int AS open FROM (SELECT 1 FROM tasks WHERE owner = :owner AND status IN (${LIVE}) LIMIT :most) t`,
);

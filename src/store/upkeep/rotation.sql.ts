import { hasRun, statement } from '../database/statement.ts';
import { LIVE } from '../runs/runs.sql.ts';

export const sealedDefinitions = statement(
  'sealed_definitions',
  [],
  `SELECT hash, body -> 'mcp_servers' AS servers FROM definitions WHERE (body -> 'mcp_servers')::text LIKE '%{{sealed:%'`,
);

export const sealedCallers = statement(
  'sealed_callers',
  ['active_key_id'],
  `SELECT id, caller_token AS sealed, caller_key_id AS key_id FROM tasks
      WHERE status IN (${LIVE}) AND caller_token IS NOT NULL AND caller_key_id <> :active_key_id
    UNION ALL SELECT id, caller_token, caller_key_id FROM thread_messages
      WHERE state = 'pending' AND caller_token IS NOT NULL AND caller_key_id <> :active_key_id`,
);

export const resealDefinition = statement(
  'reseal_definition',
  ['hash', 'servers'],
  `UPDATE definitions SET body = jsonb_set(body, '{mcp_servers}', :servers::jsonb) WHERE hash = :hash`,
);

export const resealCaller = statement(
  'reseal_caller',
  ['task_id', 'sealed', 'key_id'],
  `WITH task AS (
      UPDATE tasks SET caller_token = :sealed::bytea, caller_key_id = :key_id WHERE id = :task_id AND caller_token IS NOT NULL RETURNING 1),
    message AS (
      UPDATE thread_messages SET caller_token = :sealed::bytea, caller_key_id = :key_id
      WHERE id = :task_id AND caller_token IS NOT NULL AND ${hasRun('task')} RETURNING 1)
    SELECT count(*) FROM message`,
);

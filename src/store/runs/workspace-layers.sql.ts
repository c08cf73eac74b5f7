import { statement } from '../database/statement.ts';
import { LIVE } from './runs.sql.ts';
import { LIVE_TASK, SEEN } from './tool-ledger.sql.ts';

/* All statements take locks in the order of runs.sql.ts. */

export const layersOfTask = statement(
  'layers_of_task',
  ['task_id'],
  `SELECT number, chunks, bytes::float8 AS bytes FROM workspace_layers WHERE task_id = :task_id ORDER BY number`,
);

/** Adds the layer of a call, if this attempt still owns the call. */
export const addLayer = statement(
  'add_layer',
  ['task_id', 'call_id', 'seen_status', 'seen_attempts', 'chunks', 'bytes'],
  `WITH ${LIVE_TASK},
    call AS (SELECT 1 FROM tool_calls WHERE ${SEEN} FOR SHARE)
    INSERT INTO workspace_layers (task_id, chunks, bytes) SELECT :task_id, :chunks::text[], :bytes FROM call RETURNING number`,
);

/** Adds the layer that a run starts with, unless it has one. */
export const firstLayer = statement(
  'first_layer',
  ['task_id', 'chunks', 'bytes'],
  `INSERT INTO workspace_layers (task_id, first, chunks, bytes)
    SELECT :task_id, true, :chunks::text[], :bytes FROM tasks WHERE id = :task_id AND status IN (${LIVE})
      AND NOT EXISTS (SELECT 1 FROM workspace_layers WHERE task_id = :task_id)
    ON CONFLICT DO NOTHING RETURNING number`,
);

export const forgetLayers = statement('forget_layers', ['task_id'], `DELETE FROM workspace_layers WHERE task_id = :task_id`);

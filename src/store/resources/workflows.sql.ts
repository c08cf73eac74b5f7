import { hasRun, statement } from '../database/statement.ts';
import { LIVE } from '../runs/runs.sql.ts';

/** Deletes single-use workflows that never ran, because their request was refused or its server died. */
export const removeUnusedWorkflows = statement(
  'remove_unused_workflows',
  ['created_before'],
  `DELETE FROM workflows w WHERE single_use AND task_count = 0 AND created_at < :created_before
    AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.workflow_id = w.id)
    AND NOT EXISTS (SELECT 1 FROM scheduled_agents s WHERE s.workflow_id = w.id)
    AND NOT EXISTS (SELECT 1 FROM threads h WHERE h.workflow_id = w.id)`,
);

/** Locks a workflow with its threads, so that no prompt is accepted until it is removed. */
export const lockWorkflow = statement(
  'lock_workflow',
  ['id'],
  `WITH its_threads AS MATERIALIZED (SELECT 1 FROM threads WHERE workflow_id = :id ORDER BY id FOR NO KEY UPDATE)
    SELECT id FROM workflows WHERE id = :id AND ${hasRun('its_threads')} FOR NO KEY UPDATE`,
);

export const removeWorkflow = statement(
  'remove_workflow',
  ['id'],
  `DELETE FROM workflows w WHERE id = :id AND active_task_id IS NULL
    AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.workflow_id = w.id AND t.beside_lane AND t.status IN (${LIVE}))
    AND NOT EXISTS (SELECT 1 FROM threads h WHERE h.workflow_id = w.id AND h.active_task_id IS NOT NULL) RETURNING id`,
);

export const ownerOfWorkflow = statement('owner_of_workflow', ['id'], `SELECT owner FROM workflows WHERE id = :id`);

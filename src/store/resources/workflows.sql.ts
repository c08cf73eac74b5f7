import { hasRun, statement } from '../database/statement.ts';

/** Deletes single-use workflows that never ran, because their request was refused or its server died. */
export const removeUnusedWorkflows = statement(
  'remove_unused_workflows',
  ['created_before'],
  `DELETE FROM workflows w WHERE single_use AND task_count = 0 AND created_at < :created_before
    AND NOT EXISTS (SELECT 1 FROM scheduled_agents s WHERE s.workflow_id = w.id)
    AND NOT EXISTS (SELECT 1 FROM threads h WHERE h.workflow_id = w.id)`,
);

/** Deletes a workflow unless a run of it is in progress. Locks its threads first, as whatever ends or accepts a turn does. */
export const removeWorkflow = statement(
  'remove_workflow',
  ['id'],
  `WITH its_threads AS MATERIALIZED (SELECT id FROM threads WHERE workflow_id = :id ORDER BY id FOR NO KEY UPDATE)
    DELETE FROM workflows w WHERE id = :id AND active_task_id IS NULL AND ${hasRun('its_threads')}
    AND NOT EXISTS (SELECT 1 FROM threads h WHERE h.workflow_id = w.id AND h.active_task_id IS NOT NULL) RETURNING id`,
);

export const ownerOfWorkflow = statement('owner_of_workflow', ['id'], `SELECT owner FROM workflows WHERE id = :id`);

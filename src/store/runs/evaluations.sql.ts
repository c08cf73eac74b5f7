import { isLastClaim } from '../database/idempotency.sql.ts';
import { statement } from '../database/statement.ts';

/** Returns the tool calls of a run whose results a tool returned, in order, without stubs, refusals and unknown outcomes. */
export const recordedCallsOfTask = statement(
  'recorded_calls_of_task',
  ['task_id', 'outcome_unknown'],
  `SELECT c.name, c.arguments, m.content, coalesce(c.failed, false) AS failed FROM tool_calls c
    JOIN task_messages m ON m.task_id = c.task_id AND m.step = c.step AND m.position = c.position
    WHERE c.task_id = :task_id AND c.status = 'done' AND m.kind = 'result'
      AND coalesce(c.answered_by, 'recorded') = 'recorded' AND m.content <> :outcome_unknown
    ORDER BY c.step, c.position`,
);

/** Returns the recorded calls of the item that a run evaluates. */
export const recordedCallsOfItem = statement(
  'recorded_calls_of_item',
  ['task_id', 'name'],
  `SELECT recorded.call ->> 'name' AS name, recorded.call ->> 'arguments' AS arguments, recorded.call ->> 'content' AS content,
      (recorded.call ->> 'failed')::boolean AS failed
    FROM evaluation_results r JOIN dataset_items i ON i.id = r.item_id,
      jsonb_array_elements(i.calls) WITH ORDINALITY AS recorded (call, place)
    WHERE r.task_id = :task_id AND recorded.call ->> 'name' = :name ORDER BY recorded.place`,
);

/** Marks a new task so that its tool calls are answered as its evaluation requires. */
export const markEvaluated = statement(
  'mark_evaluated',
  ['task_id', 'effects'],
  `UPDATE tasks SET fork_step = 1, fork_effects = :effects WHERE id = :task_id`,
);

/** Locks the dataset, which serializes evaluations and the deletion of items. */
export const lockDataset = statement(
  'lock_dataset',
  ['dataset_id'],
  `SELECT id FROM datasets WHERE id = :dataset_id FOR NO KEY UPDATE`,
);

/** Returns whether :claim is the last one of the request that creates an evaluation, and locks its key. */
export const claimEvaluation = statement('claim_evaluation', ['id', 'claim'], `SELECT ${isLastClaim(':id::uuid')} AS is_current`);

/**
 * Deletes an evaluation that has not begun. Its request's key is locked first: a try with a later claim may have been accepted, and one
 * that claims it now finds that the evaluation is gone.
 */
export const discardEvaluation = statement(
  'discard_evaluation',
  ['id', 'claim'],
  `WITH request AS MATERIALIZED (SELECT claims, reply FROM idempotency_keys WHERE reserved_id = :id FOR SHARE)
    DELETE FROM evaluations WHERE id = :id
      AND NOT EXISTS (SELECT FROM request WHERE claims > :claim::int OR reply IS NOT NULL)
      AND NOT EXISTS (SELECT FROM evaluation_results WHERE evaluation_id = :id AND status <> 'pending') RETURNING id`,
);

export const createEvaluation = statement(
  'create_evaluation',
  [
    ...[
      'id',
      'dataset_id',
      'workflow_id',
      'workflow_title',
      'definition_hash',
      'definition',
      'model',
      'graders',
      'effects',
      'parallel',
    ],
    ...['baseline_id', 'caller_token', 'caller_key_id', 'service_key_id', 'created_by', 'owner_login'],
  ],
  `WITH definition AS (
      INSERT INTO definitions (hash, body) VALUES (:definition_hash::text, :definition::jsonb) ON CONFLICT DO NOTHING),
    made AS (
      INSERT INTO evaluations (id, dataset_id, workflow_id, workflow_title, definition_hash, model, graders, effects, parallel, baseline_id,
        items, caller_token, caller_key_id, service_key_id, created_by, owner_login)
      SELECT :id::uuid, :dataset_id::uuid, :workflow_id::uuid, :workflow_title, :definition_hash, :model, :graders::jsonb, :effects, :parallel::int,
        coalesce(:baseline_id::uuid, (
          SELECT id FROM evaluations WHERE dataset_id = :dataset_id AND workflow_id = :workflow_id AND status = 'completed'
          ORDER BY id DESC LIMIT 1)),
        (SELECT count(*) FROM dataset_items WHERE dataset_id = :dataset_id), :caller_token::bytea, :caller_key_id, :service_key_id::uuid, :created_by, :owner_login
      WHERE EXISTS (SELECT 1 FROM dataset_items WHERE dataset_id = :dataset_id) RETURNING id),
    results AS (
      INSERT INTO evaluation_results (evaluation_id, item_id)
      SELECT made.id, i.id FROM made, dataset_items i WHERE i.dataset_id = :dataset_id)
    SELECT id FROM made`,
);

/** Claims an item for its run. The run's id is chosen once, so that another attempt creates no second run. */
export const claimResult = statement(
  'claim_result',
  ['evaluation_id', 'item_id', 'task_id'],
  `UPDATE evaluation_results r SET status = 'running', task_id = coalesce(r.task_id, :task_id)
    FROM evaluations e, dataset_items i
    WHERE r.evaluation_id = :evaluation_id AND r.item_id = :item_id AND r.status IN ('pending', 'running')
      AND e.id = r.evaluation_id AND e.status = 'running' AND i.id = r.item_id
    RETURNING r.task_id, i.prompt, e.workflow_id, e.workflow_title, e.definition_hash, e.effects, e.created_by AS owner, e.owner_login,
      e.service_key_id`,
);

export const openResult = statement(
  'open_result',
  ['evaluation_id', 'item_id'],
  `SELECT r.grading, i.prompt, i.expected, e.graders, e.definition_hash, e.workflow_id, e.created_by AS owner, e.owner_login,
      e.service_key_id, t.status AS task_status, t.response AS answer, t.error
    FROM evaluation_results r JOIN evaluations e ON e.id = r.evaluation_id JOIN dataset_items i ON i.id = r.item_id
      LEFT JOIN tasks t ON t.id = r.task_id
    WHERE r.evaluation_id = :evaluation_id AND r.item_id = :item_id AND r.status = 'running'`,
);

/** Writes a grader's work on an item, once, and returns what is on record. Returns no row if the item has a result. */
export const noteGrading = statement(
  'note_grading',
  ['evaluation_id', 'item_id', 'grader', 'work'],
  `UPDATE evaluation_results SET grading = jsonb_build_object(:grader::text, :work::jsonb) || grading
    WHERE evaluation_id = :evaluation_id AND item_id = :item_id AND status = 'running' RETURNING grading -> :grader::text AS work`,
);

/** Writes a result once, and updates the evaluation's count of such results. */
export const settleResult = statement(
  'settle_result',
  ['evaluation_id', 'item_id', 'status', 'grades', 'error'],
  `WITH settled AS (
      UPDATE evaluation_results SET status = :status, grades = :grades::jsonb, error = :error, ended_at = now()
      WHERE evaluation_id = :evaluation_id AND item_id = :item_id AND status IN ('pending', 'running') RETURNING status)
    UPDATE evaluations SET passed = passed + (settled.status = 'passed')::int, failed = failed + (settled.status = 'failed')::int,
      errors = errors + (settled.status = 'error')::int
    FROM settled WHERE id = :evaluation_id`,
);

/** Ends an evaluation once; it is halted if a result is open. Returns the runs of open results and of their judges. */
export const endEvaluation = statement(
  'end_evaluation',
  ['evaluation_id'],
  `WITH left_open AS (
      UPDATE evaluation_results SET status = 'halted', ended_at = now()
      WHERE evaluation_id = :evaluation_id AND status IN ('pending', 'running') RETURNING task_id, grading),
    ended AS (
      UPDATE evaluations SET status = CASE WHEN EXISTS (SELECT 1 FROM left_open) THEN 'halted' ELSE 'completed' END, completed_at = now(),
        caller_token = NULL, caller_key_id = NULL
      WHERE id = :evaluation_id AND status = 'running')
    SELECT task_id FROM left_open WHERE task_id IS NOT NULL
    UNION SELECT (judged.work ->> 'task_id')::uuid FROM left_open, jsonb_each(grading) AS judged (grader, work) WHERE judged.work ? 'task_id'`,
);

export const regressions = statement(
  'regressions',
  ['evaluation_id', 'baseline_id'],
  `SELECT r.item_id, i.prompt, r.status, r.task_id, b.task_id AS baseline_task_id
    FROM evaluation_results r JOIN evaluation_results b ON b.item_id = r.item_id AND b.evaluation_id = :baseline_id
      JOIN dataset_items i ON i.id = r.item_id
    WHERE r.evaluation_id = :evaluation_id AND b.status = 'passed' AND r.status IN ('failed', 'error') ORDER BY r.item_id`,
);

/** Deletes an item unless an evaluation of its dataset is running. Returns no row if there is no such item. */
export const removeDatasetItem = statement(
  'remove_dataset_item',
  ['dataset_id', 'id'],
  `WITH found AS (
      SELECT id, EXISTS (SELECT 1 FROM evaluations WHERE dataset_id = :dataset_id AND status = 'running') AS running
      FROM dataset_items WHERE id = :id AND dataset_id = :dataset_id),
    gone AS (DELETE FROM dataset_items i USING found WHERE i.id = found.id AND NOT found.running)
    SELECT running FROM found`,
);

/** Returns a recorded version of a workflow, or one that its runs or evaluations were pinned with. */
export const versionOfWorkflow = statement(
  'version_of_workflow',
  ['workflow_id', 'definition_hash'],
  `SELECT hash AS definition_hash, body FROM definitions WHERE hash = :definition_hash AND (
    EXISTS (SELECT 1 FROM workflow_versions WHERE definition_hash = :definition_hash AND workflow_id = :workflow_id)
    OR EXISTS (SELECT 1 FROM tasks WHERE definition_hash = :definition_hash AND workflow_id = :workflow_id)
    OR EXISTS (SELECT 1 FROM evaluations WHERE definition_hash = :definition_hash AND workflow_id = :workflow_id))`,
);

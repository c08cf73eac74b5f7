import { statement } from '../database/statement.ts';

/** The number of versions without runs that a workflow keeps. Each has a separate definition. */
const KEPT_UNRUN = 20;

export const recordVersion = statement(
  'record_version',
  ['id', 'workflow_id', 'definition_hash', 'definition', 'config', 'origin', 'created_by', 'created_login', 'created_at'],
  `WITH numbered AS (
      UPDATE workflows SET version_count = version_count + 1 WHERE id = :workflow_id AND NOT single_use
        AND NOT EXISTS (SELECT 1 FROM workflow_versions v WHERE v.workflow_id = :workflow_id AND v.definition_hash = :definition_hash)
      RETURNING version_count AS number),
    definition AS (INSERT INTO definitions (hash, body) SELECT :definition_hash, :definition::jsonb FROM numbered ON CONFLICT DO NOTHING)
    INSERT INTO workflow_versions (id, workflow_id, number, definition_hash, config, origin, created_by, created_login, created_at)
    SELECT :id, :workflow_id, number, :definition_hash, :config::jsonb, :origin, :created_by, :created_login, :created_at FROM numbered
    ON CONFLICT (workflow_id, definition_hash) DO NOTHING RETURNING number`,
);

/** Deletes versions without runs, except the newest. */
export const dropUnrunVersions = statement(
  'drop_unrun_versions',
  ['workflow_id'],
  `DELETE FROM definitions WHERE hash IN (
      SELECT v.definition_hash FROM workflow_versions v WHERE v.workflow_id = :workflow_id
        AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.definition_hash = v.definition_hash)
      ORDER BY v.number DESC OFFSET ${KEPT_UNRUN})`,
);

/** Returns the runs of each version, without those of evaluations, and its last completed evaluation. */
export const recordOfVersions = statement(
  'record_of_versions',
  ['workflow_id', 'definition_hashes'],
  `SELECT h.hash,
      (SELECT count(*)::int FROM tasks t WHERE t.definition_hash = h.hash AND t.workflow_id = :workflow_id) AS runs, e.id, e.dataset_id,
      e.pass_rate, e.completed_at
    FROM unnest(:definition_hashes::text[]) AS h (hash) LEFT JOIN LATERAL (
      SELECT id, dataset_id, passed::float8 / items AS pass_rate, completed_at FROM evaluations
      WHERE definition_hash = h.hash AND workflow_id = :workflow_id AND status = 'completed' ORDER BY id DESC LIMIT 1) e ON true`,
);

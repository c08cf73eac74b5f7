import { statement } from '../database/statement.ts';

/** Returns the scores of the runs of each version of a workflow. The version that ran last comes first. */
export const scoresByVersion = statement(
  'scores_by_version',
  ['workflow_id'],
  `SELECT t.definition_hash, (array_agg(t.model ORDER BY t.id DESC))[1] AS model, count(*)::int AS runs,
      count(*) FILTER (WHERE t.status = 'completed')::int AS completed, count(*) FILTER (WHERE s.scores > 0)::int AS scored,
      coalesce(sum(s.up), 0)::int AS thumbs_up, coalesce(sum(s.down), 0)::int AS thumbs_down,
      (sum(s.total) / nullif(sum(s.numbers), 0))::float8 AS mean_value, max(t.created_at) AS last_run_at
    FROM tasks t LEFT JOIN LATERAL (
      SELECT count(*) AS scores, count(*) FILTER (WHERE thumb = 'up') AS up, count(*) FILTER (WHERE thumb = 'down') AS down,
        sum(value) AS total, count(value) AS numbers
      FROM task_scores WHERE task_id = t.id) s ON true
    WHERE t.workflow_id = :workflow_id GROUP BY t.definition_hash ORDER BY last_run_at DESC`,
);

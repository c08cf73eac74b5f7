-- Serves versions from: 20261122195900_installation_facts
-- Lists of a person with very many tasks: no page, order or count reads all of their rows. Adding the columns writes the table again,
-- which takes one or two minutes for each million tasks.
-- The figures are null until the task has ended: the steps of a run change its cost, and must not change an index each time.
ALTER TABLE tasks
  ADD COLUMN final_cost DOUBLE PRECISION GENERATED ALWAYS AS (CASE WHEN completed_at IS NOT NULL THEN cost END) STORED,
  ADD COLUMN final_tokens DOUBLE PRECISION GENERATED ALWAYS AS (
    CASE WHEN completed_at IS NOT NULL THEN total_in::float8 + total_out END) STORED,
  ADD COLUMN final_seconds DOUBLE PRECISION GENERATED ALWAYS AS (
    CASE WHEN completed_at IS NOT NULL THEN coalesce(extract(epoch FROM completed_at - started_at), -1)::float8 END) STORED;
CREATE INDEX tasks_by_cost ON tasks (owner, final_cost, id) WHERE completed_at IS NOT NULL;
CREATE INDEX tasks_by_tokens ON tasks (owner, final_tokens, id) WHERE completed_at IS NOT NULL;
CREATE INDEX tasks_by_duration ON tasks (owner, final_seconds, id) WHERE completed_at IS NOT NULL;
CREATE INDEX tasks_open ON tasks (owner, id) WHERE completed_at IS NULL;
CREATE INDEX tasks_by_status ON tasks (owner, status, id);
-- Filters are applied to the index, not to the rows, most of which are large.
CREATE INDEX tasks_filtered ON tasks (owner, id) INCLUDE (status, created_at, agent_id, model, trigger, error_code, workflow_id);
CREATE INDEX tasks_errors ON tasks (owner, error_code, id)
  INCLUDE (completed_at, status, created_at, agent_id, model, trigger, workflow_id) WHERE error_code IS NOT NULL;
DROP INDEX "tasks_owner_id_idx";

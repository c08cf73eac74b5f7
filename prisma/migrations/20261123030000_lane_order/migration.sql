-- Serves versions from: 20261122195900_installation_facts
-- Tasks of one lane run in the order in which the workflow accepted them. A server of the release before leaves the number null: its
-- tasks come first, by id.
ALTER TABLE "workflows" ADD COLUMN "accepted_tasks" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "tasks" ADD COLUMN "lane_number" INTEGER;

CREATE OR REPLACE FUNCTION next_in_lane(p_workflow uuid, p_but uuid) RETURNS uuid LANGUAGE sql AS $$
  SELECT id FROM tasks WHERE workflow_id = p_workflow AND status = 'pending' AND id <> p_but
    ORDER BY (on_busy = 'interrupt') DESC, lane_number NULLS FIRST, id LIMIT 1
$$;

-- Serves versions from: 20261122195900_installation_facts
-- What is removed after some time is found by an index, in the order in which it becomes old; see src/store/statements/retention.ts.
CREATE INDEX tasks_ended ON tasks (completed_at, id) WHERE completed_at IS NOT NULL;
CREATE INDEX tasks_forks ON tasks (forked_from) WHERE forked_from IS NOT NULL;
CREATE INDEX "tasks_definition_hash_idx" ON "tasks"("definition_hash");
CREATE INDEX "schedule_fires_due_at_scheduled_agent_id_idx" ON "schedule_fires"("due_at", "scheduled_agent_id");
CREATE INDEX "token_uses_task_id_idx" ON "token_uses"("task_id");
CREATE INDEX secret_grants_superseded ON secret_grants (superseded_at, id) WHERE superseded_at IS NOT NULL;
CREATE INDEX workflows_single_use ON workflows (id) WHERE single_use;
CREATE INDEX memories_of_workflows ON memories (workflow_id) WHERE workflow_id <> '';

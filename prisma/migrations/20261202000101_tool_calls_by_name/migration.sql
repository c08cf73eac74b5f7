-- Serves versions from: 20261201000000_initial
-- Finds the runs that called a tool, which `GET /api/tasks?tool=` lists.
CREATE INDEX "tool_calls_by_name" ON "tool_calls"("name", "task_id");

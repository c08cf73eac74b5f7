-- A cursor is what a model's provider still keeps for a task: emptied once that has been ended.
CREATE INDEX tasks_open_cursors ON tasks (id) WHERE cursor IS NOT NULL AND cursor <> 'null'::jsonb;

-- Returns the budgets that apply to a call of a model: those of the installation, of the person who pays for it, and of its service key,
-- agent, workflow and schedule, as far as it has them. A run of an evaluation counts for the workflow that is evaluated.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION budgets_for(p_owner text, p_key uuid, p_agent uuid, p_workflow uuid, p_schedule uuid)
  RETURNS SETOF budgets LANGUAGE sql STABLE AS $$
  SELECT b.* FROM budgets b WHERE (b.scope, b.subject) IN (
    VALUES ('installation', ''), ('person', p_owner), ('service_key', p_key::text), ('agent', p_agent::text), ('schedule', p_schedule::text),
      ('workflow', coalesce((SELECT e.workflow_id FROM workflows w JOIN evaluations e ON e.id = w.evaluation_id WHERE w.id = p_workflow),
        p_workflow)::text))
$$;

-- An alert may watch a budget. It is deleted with it, as an alert about a workflow is.
ALTER TABLE alerts ADD COLUMN budget_id uuid REFERENCES budgets (id) ON DELETE CASCADE ON UPDATE CASCADE;
CREATE INDEX alerts_budget_id_idx ON alerts (budget_id);

-- Workflows made for one request at a door, which named an agent.
ALTER TABLE workflows ADD COLUMN single_use boolean NOT NULL DEFAULT false;
UPDATE workflows w SET single_use = true FROM agents a WHERE a.id = w.agent_id AND w.title = a.name || ' (API)' AND w.task_count <= 1;

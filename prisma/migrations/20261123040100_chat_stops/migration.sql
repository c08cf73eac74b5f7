-- Serves versions from: 20261122195900_installation_facts
-- How often the reply of a session was stopped. The server that writes the reply compares, so a stop needs no message between servers.
ALTER TABLE chat_sessions ADD COLUMN stops INTEGER NOT NULL DEFAULT 0;

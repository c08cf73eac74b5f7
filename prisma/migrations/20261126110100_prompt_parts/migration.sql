-- Serves versions from: 20261122195900_installation_facts
-- The messages that a prompt at /v1 was made of, as [role, length], so that a later request can continue the conversation.
ALTER TABLE "tasks" ADD COLUMN "prompt_parts" JSONB;

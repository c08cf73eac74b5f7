-- Serves versions from: 20261122195900_installation_facts
-- The tools that an agent's guards are pinned to, and the effects that ask. Older versions compare the names in approval_tools; names
-- without a pin, such as those that they save, guard every tool that they fit.
ALTER TABLE "agents" ADD COLUMN "approval_guards" JSONB NOT NULL DEFAULT '[]', ADD COLUMN "approve_effects" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[];

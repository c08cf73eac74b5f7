-- Where a forked run began, and what becomes of its tool calls.
ALTER TABLE "tasks" ADD COLUMN "fork_step" INTEGER, ADD COLUMN "fork_effects" TEXT;

-- Where a forked run began, and what becomes of its tool calls; of a call, what answered it instead of its tool.
ALTER TABLE "tasks" ADD COLUMN "fork_step" INTEGER, ADD COLUMN "fork_effects" TEXT;
ALTER TABLE "tool_calls" ADD COLUMN "answered_by" TEXT;

-- Of a call of a fork, what answered it instead of its tool. Apart from the one before, so that no lock is waited for under another.
ALTER TABLE "tool_calls" ADD COLUMN "answered_by" TEXT;

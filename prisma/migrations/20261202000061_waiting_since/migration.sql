-- Serves versions from: 20261202000060_search_text
ALTER TABLE "tasks" ADD COLUMN     "waiting_since" TIMESTAMPTZ(3);
ALTER TABLE "tool_calls" ADD COLUMN     "waiting_since" TIMESTAMPTZ(3);

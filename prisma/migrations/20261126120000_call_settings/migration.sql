-- Serves versions from: 20261122195900_installation_facts
-- Settings of each model call; null or empty: the model's default.
ALTER TABLE "workflows" ADD COLUMN "temperature" DOUBLE PRECISION, ADD COLUMN "top_p" DOUBLE PRECISION,
  ADD COLUMN "max_output_tokens" INTEGER, ADD COLUMN "stop" TEXT[] DEFAULT ARRAY[]::TEXT[],
  ADD COLUMN "parallel_tool_calls" BOOLEAN;

-- Serves versions from: 20261122195900_installation_facts
-- JSON Schema of the final answers of a workflow; null: any answer.
ALTER TABLE "workflows" ADD COLUMN "output_schema" JSONB;

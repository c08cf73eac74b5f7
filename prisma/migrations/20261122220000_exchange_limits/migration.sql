-- Serves versions from: 20261122195900_installation_facts
-- Limits of one exchange with a model; null: those of the next wider setting.
ALTER TABLE "providers" ADD COLUMN "model_total_seconds" INTEGER, ADD COLUMN "model_silence_seconds" INTEGER;
ALTER TABLE "workflows" ADD COLUMN "model_total_seconds" INTEGER, ADD COLUMN "model_silence_seconds" INTEGER;

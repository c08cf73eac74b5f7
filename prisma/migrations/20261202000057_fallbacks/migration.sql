-- Serves versions from: 20261201000000_initial
ALTER TABLE "providers" ADD COLUMN     "fallbacks" JSONB NOT NULL DEFAULT '[]',
ADD COLUMN     "fallback_minutes" INTEGER;
ALTER TABLE "agents" ADD COLUMN     "fallbacks" JSONB NOT NULL DEFAULT '[]',
ADD COLUMN     "fallback_minutes" INTEGER;
ALTER TABLE "tasks" ADD COLUMN     "fallback" JSONB;
ALTER TABLE "task_steps" ADD COLUMN     "provider_id" UUID,
ADD COLUMN     "provider_name" TEXT,
ADD COLUMN     "fallback" INTEGER NOT NULL DEFAULT 0;

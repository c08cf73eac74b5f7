-- Serves versions from: 20261122195900_installation_facts
-- Datasets, and their evaluations: a workflow's runs over all items of a dataset, each with its grades.
CREATE TABLE "datasets" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "datasets_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "datasets_created_by_id_idx" ON "datasets"("created_by", "id" DESC);

CREATE TABLE "dataset_items" (
    "id" UUID NOT NULL,
    "dataset_id" UUID NOT NULL,
    "prompt" TEXT NOT NULL,
    "expected" JSONB,
    "calls" JSONB NOT NULL DEFAULT '[]',
    "source_task_id" UUID,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "dataset_items_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "dataset_items_dataset_id_id_idx" ON "dataset_items"("dataset_id", "id" DESC);
CREATE INDEX "dataset_items_created_by_idx" ON "dataset_items"("created_by");
ALTER TABLE "dataset_items" ADD CONSTRAINT "dataset_items_dataset_id_fkey" FOREIGN KEY ("dataset_id") REFERENCES "datasets"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "evaluations" (
    "id" UUID NOT NULL,
    "dataset_id" UUID NOT NULL,
    "workflow_id" UUID NOT NULL,
    "workflow_title" TEXT,
    "definition_hash" TEXT NOT NULL,
    "model" TEXT,
    "graders" JSONB NOT NULL,
    "effects" TEXT NOT NULL,
    "parallel" INTEGER NOT NULL,
    "baseline_id" UUID,
    "status" TEXT NOT NULL DEFAULT 'running',
    "items" INTEGER NOT NULL,
    "passed" INTEGER NOT NULL DEFAULT 0,
    "failed" INTEGER NOT NULL DEFAULT 0,
    "errors" INTEGER NOT NULL DEFAULT 0,
    "caller_token" BYTEA,
    "caller_key_id" TEXT,
    "created_by" TEXT NOT NULL,
    "owner_login" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "completed_at" TIMESTAMPTZ(3),

    CONSTRAINT "evaluations_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "evaluations_dataset_id_id_idx" ON "evaluations"("dataset_id", "id" DESC);
CREATE INDEX "evaluations_definition_hash_idx" ON "evaluations"("definition_hash");
CREATE INDEX "evaluations_status_idx" ON "evaluations"("status");
ALTER TABLE "evaluations" ADD CONSTRAINT "evaluations_dataset_id_fkey" FOREIGN KEY ("dataset_id") REFERENCES "datasets"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "workflows" ADD COLUMN "evaluation_id" UUID;

CREATE TABLE "evaluation_results" (
    "evaluation_id" UUID NOT NULL,
    "item_id" UUID NOT NULL,
    "task_id" UUID,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "grades" JSONB NOT NULL DEFAULT '[]',
    "error" TEXT,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "evaluation_results_pkey" PRIMARY KEY ("evaluation_id", "item_id")
);
CREATE INDEX "evaluation_results_item_id_idx" ON "evaluation_results"("item_id");
CREATE INDEX "evaluation_results_task_id_idx" ON "evaluation_results"("task_id");
ALTER TABLE "evaluation_results" ADD CONSTRAINT "evaluation_results_evaluation_id_fkey" FOREIGN KEY ("evaluation_id") REFERENCES "evaluations"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "evaluation_results" ADD CONSTRAINT "evaluation_results_item_id_fkey" FOREIGN KEY ("item_id") REFERENCES "dataset_items"("id") ON DELETE CASCADE ON UPDATE CASCADE;

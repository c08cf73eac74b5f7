-- Serves versions from: 20261122195900_installation_facts
-- What people think of a run: a thumb or a number, with a note.
CREATE TABLE "task_scores" (
    "id" UUID NOT NULL,
    "task_id" UUID NOT NULL,
    "thumb" TEXT,
    "value" DOUBLE PRECISION,
    "note" TEXT NOT NULL DEFAULT '',
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "task_scores_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "task_scores_task_id_id_idx" ON "task_scores"("task_id", "id" DESC);
CREATE INDEX "task_scores_created_by_idx" ON "task_scores"("created_by");
ALTER TABLE "task_scores" ADD CONSTRAINT "task_scores_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

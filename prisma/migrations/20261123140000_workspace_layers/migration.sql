-- Serves versions from: 20261122195900_installation_facts
-- With an object store, what each call changed in its run's workspace is a layer, recorded before the call counts as done.
CREATE TABLE "workspace_layers" (
    "number" BIGSERIAL NOT NULL,
    "task_id" UUID NOT NULL,
    "first" BOOLEAN NOT NULL DEFAULT false,
    "chunks" TEXT[],
    "bytes" BIGINT NOT NULL,

    CONSTRAINT "workspace_layers_pkey" PRIMARY KEY ("number")
);
CREATE INDEX "workspace_layers_task_id_number_idx" ON "workspace_layers"("task_id", "number");
CREATE UNIQUE INDEX workspace_layers_first ON workspace_layers (task_id) WHERE first;
ALTER TABLE "workspace_layers" ADD CONSTRAINT "workspace_layers_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

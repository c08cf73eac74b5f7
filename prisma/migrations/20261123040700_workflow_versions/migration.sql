-- Serves versions from: 20261122195900_installation_facts
-- Each definition that a workflow has had is a numbered version of it. A server of the release before records none: the next task
-- that a newer server creates does.
ALTER TABLE "workflows" ADD COLUMN "version_count" INTEGER NOT NULL DEFAULT 0;

CREATE TABLE "workflow_versions" (
    "id" UUID NOT NULL,
    "workflow_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "definition_hash" TEXT NOT NULL,
    "config" JSONB,
    "origin" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_login" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "workflow_versions_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "workflow_versions_workflow_id_number_key" ON "workflow_versions"("workflow_id", "number");
CREATE UNIQUE INDEX "workflow_versions_workflow_id_definition_hash_key" ON "workflow_versions"("workflow_id", "definition_hash");
CREATE INDEX "workflow_versions_definition_hash_idx" ON "workflow_versions"("definition_hash");
ALTER TABLE "workflow_versions" ADD CONSTRAINT "workflow_versions_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "workflow_versions" ADD CONSTRAINT "workflow_versions_definition_hash_fkey" FOREIGN KEY ("definition_hash") REFERENCES "definitions"("hash") ON DELETE CASCADE ON UPDATE CASCADE;

-- The definitions of earlier tasks, in the order of their first task, whose id is the version's. What the workflow and its agent were
-- set to is not known of them.
INSERT INTO workflow_versions (id, workflow_id, number, definition_hash, origin, created_by, created_login, created_at)
  SELECT t.id, t.workflow_id, row_number() OVER (PARTITION BY t.workflow_id ORDER BY t.id), t.definition_hash, 'run', t.owner,
    t.owner_login, t.created_at
  FROM (SELECT DISTINCT ON (workflow_id, definition_hash) workflow_id, definition_hash, id, owner, owner_login, created_at
    FROM tasks ORDER BY workflow_id, definition_hash, id) t
    JOIN workflows w ON w.id = t.workflow_id WHERE NOT w.single_use;
UPDATE workflows w SET version_count = v.count
  FROM (SELECT workflow_id, count(*)::int AS count FROM workflow_versions GROUP BY 1) v WHERE v.workflow_id = w.id;

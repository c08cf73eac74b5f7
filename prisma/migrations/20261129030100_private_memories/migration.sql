-- Serves versions from: 20261122195900_installation_facts
-- What a run stores is recalled by the runs of its owner only. Keys of different owners must not meet, so the home of such a memory, in
-- which its key is unique, is a UUID made of the owner. Servers of the release before write memories for everyone until they are replaced.
ALTER TABLE "memories" ADD COLUMN "owner" TEXT;

-- What runs have stored until now, and what others have written for somebody's agent.
UPDATE "memories" m SET "owner" = m."created_by",
  "workflow_id" = overlay(overlay(md5(m."created_by") placing '8' from 13) placing '8' from 17)::uuid::text
WHERE m."scope" <> 'session' AND (m."task_id" IS NOT NULL OR m."scope" = 'agent'
  AND m."created_by" IS DISTINCT FROM (SELECT a."created_by" FROM "agents" a WHERE a."id" = m."agent_id"));

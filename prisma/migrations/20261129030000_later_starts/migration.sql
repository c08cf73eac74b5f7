-- Serves versions from: 20261122195900_installation_facts
-- What starts later runs for its owner: with the role that the owner had last, and, if it was saved with a service key, within that key.
-- A schedule that a new server saved has no access token unless its agent needs one; servers of the release before record its due times
-- as failed until they are replaced.
ALTER TABLE "principals" ADD COLUMN "claimed_role" TEXT;
ALTER TABLE "scheduled_agents" ADD COLUMN "service_key_id" UUID;
ALTER TABLE "evaluations" ADD COLUMN "service_key_id" UUID;

-- Owners whose sign-in by a token of OpenID Connect was never recorded.
INSERT INTO "principals" ("id", "provider", "subject", "login")
  SELECT DISTINCT ON ("owner") "owner", split_part("owner", ':', 1), substr("owner", strpos("owner", ':') + 1), "owner_login"
  FROM (SELECT "owner", "owner_login" FROM "scheduled_agents"
    UNION ALL SELECT "created_by", "owner_login" FROM "evaluations" WHERE "status" = 'running') AS "saved"
  ON CONFLICT DO NOTHING;

-- Serves versions from: 20261122195900_installation_facts
-- People who are signed in by a browser. Only the hash of a session's id is kept. Older versions do not accept sessions.
CREATE TABLE "browser_sessions" (
  "hash" BYTEA NOT NULL,
  "provider" TEXT NOT NULL,
  "subject" TEXT NOT NULL,
  "login" TEXT NOT NULL,
  "claimed_role" TEXT,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "expires_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "browser_sessions_pkey" PRIMARY KEY ("hash")
);
CREATE INDEX "browser_sessions_expires_at_idx" ON "browser_sessions"("expires_at");

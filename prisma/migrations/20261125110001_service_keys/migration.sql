-- Serves versions from: 20261122195900_installation_facts
-- Bearer tokens for programs. Only the hash of a key is kept. Older versions refuse them.
CREATE TABLE "service_keys" (
  "id" UUID NOT NULL,
  "owner" TEXT NOT NULL,
  "owner_login" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "role" TEXT NOT NULL,
  "scopes" TEXT[],
  "hash" BYTEA NOT NULL,
  "hint" TEXT NOT NULL,
  "previous_hash" BYTEA,
  "previous_until" TIMESTAMPTZ(3),
  "made_with" UUID,
  "expires_at" TIMESTAMPTZ(3),
  "last_used_at" TIMESTAMPTZ(3),
  "rotated_at" TIMESTAMPTZ(3),
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "service_keys_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "service_keys_hash_key" ON "service_keys"("hash");
CREATE UNIQUE INDEX "service_keys_previous_hash_key" ON "service_keys"("previous_hash");
CREATE UNIQUE INDEX "service_keys_owner_name_key" ON "service_keys"("owner", "name");
CREATE INDEX "service_keys_owner_id_idx" ON "service_keys"("owner", "id" DESC);
CREATE INDEX "service_keys_made_with_idx" ON "service_keys"("made_with");
ALTER TABLE "service_keys" ADD CONSTRAINT "service_keys_made_with_fkey" FOREIGN KEY ("made_with") REFERENCES "service_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A stored token opens only for a grant that its owner gave: this token, to this resource, at this destination.
CREATE TABLE "secret_grants" (
    "id" UUID NOT NULL,
    "token_name" TEXT NOT NULL,
    "granted_by" TEXT NOT NULL,
    "resource_kind" TEXT NOT NULL,
    "resource_id" UUID NOT NULL,
    "destination" TEXT NOT NULL,
    "destination_label" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "superseded_at" TIMESTAMPTZ(3),
    CONSTRAINT "secret_grants_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "secret_grants_token_name_resource_kind_resource_id_idx" ON "secret_grants"("token_name", "resource_kind", "resource_id");
CREATE INDEX "secret_grants_resource_kind_resource_id_idx" ON "secret_grants"("resource_kind", "resource_id");

-- The key of the destinations' fingerprints, sealed. It stays when the key ring is rotated, so that grants do.
CREATE TABLE "grant_keys" (
    "id" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "existing_granted_at" TIMESTAMPTZ(3),
    CONSTRAINT "grant_keys_pkey" PRIMARY KEY ("id")
);

ALTER TABLE "token_uses" ADD COLUMN "resource_kind" TEXT, ADD COLUMN "resource_id" UUID, ADD COLUMN "resource_name" TEXT,
    ADD COLUMN "destination_label" TEXT;

-- Grants end with the resource, however it goes.
CREATE FUNCTION drop_secret_grants() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM secret_grants WHERE resource_kind = TG_ARGV[0] AND resource_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER drop_secret_grants AFTER DELETE ON "providers" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('provider');
CREATE TRIGGER drop_secret_grants AFTER DELETE ON "custom_tools" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('custom_tool');
CREATE TRIGGER drop_secret_grants AFTER DELETE ON "mcp_servers" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('mcp_server');
CREATE TRIGGER drop_secret_grants AFTER DELETE ON "knowledge_sources" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('knowledge_source');
CREATE TRIGGER drop_secret_grants AFTER DELETE ON "workflows" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('workflow');

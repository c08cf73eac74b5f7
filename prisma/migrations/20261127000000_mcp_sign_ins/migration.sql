-- Serves versions from: 20261122195900_installation_facts
-- A person's sign-in at an MCP server, and sign-ins that a person has begun. Older versions call such servers without a sign-in.
CREATE TABLE "mcp_sign_ins" (
  "server_id" UUID NOT NULL,
  "principal" TEXT NOT NULL,
  "sealed" BYTEA NOT NULL,
  "key_id" TEXT NOT NULL,
  "signed_in_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "expires_at" TIMESTAMPTZ(3),
  "renews" BOOLEAN NOT NULL,
  "lease" UUID,
  "leased_until" TIMESTAMPTZ(3),
  CONSTRAINT "mcp_sign_ins_pkey" PRIMARY KEY ("server_id", "principal"),
  CONSTRAINT "mcp_sign_ins_server_id_fkey" FOREIGN KEY ("server_id") REFERENCES "mcp_servers"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "mcp_sign_ins_principal_idx" ON "mcp_sign_ins"("principal");
CREATE TABLE "mcp_sign_in_attempts" (
  "hash" BYTEA NOT NULL,
  "server_id" UUID NOT NULL,
  "principal" TEXT NOT NULL,
  "session_hash" BYTEA NOT NULL,
  "sealed" BYTEA NOT NULL,
  "key_id" TEXT NOT NULL,
  "expires_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "mcp_sign_in_attempts_pkey" PRIMARY KEY ("hash"),
  CONSTRAINT "mcp_sign_in_attempts_server_id_fkey" FOREIGN KEY ("server_id") REFERENCES "mcp_servers"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "mcp_sign_in_attempts_server_id_idx" ON "mcp_sign_in_attempts"("server_id");
CREATE INDEX "mcp_sign_in_attempts_expires_at_idx" ON "mcp_sign_in_attempts"("expires_at");

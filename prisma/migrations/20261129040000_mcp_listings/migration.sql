-- Serves versions from: 20261122195900_installation_facts
-- What an MCP server listed last, for each person who had it listed. Older versions ask the server.
CREATE TABLE "mcp_listings" (
  "server_id" UUID NOT NULL,
  "principal" TEXT NOT NULL,
  "personal" BOOLEAN NOT NULL,
  "connection" TEXT NOT NULL,
  "tools" JSONB NOT NULL,
  "listed_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "mcp_listings_pkey" PRIMARY KEY ("server_id", "principal"),
  CONSTRAINT "mcp_listings_server_id_fkey" FOREIGN KEY ("server_id") REFERENCES "mcp_servers"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

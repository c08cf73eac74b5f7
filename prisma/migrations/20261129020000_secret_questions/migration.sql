-- Serves versions from: 20261122195900_installation_facts
-- Whether an MCP server may ask people for passwords and access tokens. Older versions put every question to them.
ALTER TABLE "mcp_servers" ADD COLUMN "allow_secret_questions" BOOLEAN NOT NULL DEFAULT false;

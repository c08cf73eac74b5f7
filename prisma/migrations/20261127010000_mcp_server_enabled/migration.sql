-- Serves versions from: 20261122195900_installation_facts
-- Whether runs get the tools of a server. Older versions use all servers.
ALTER TABLE "mcp_servers" ADD COLUMN "is_enabled" BOOLEAN NOT NULL DEFAULT true;

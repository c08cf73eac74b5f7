-- Serves versions from: 20261201000000_initial
ALTER TABLE "mcp_servers" ADD COLUMN     "protocol" TEXT NOT NULL DEFAULT 'auto';

-- Serves versions from: 20261201000000_initial
ALTER TABLE "mcp_servers" ADD COLUMN     "connect_seconds" INTEGER NOT NULL DEFAULT 30;

-- Serves versions from: 20261201000000_initial
ALTER TABLE "workflows" ADD COLUMN     "service_tier" TEXT,
ADD COLUMN     "verbosity" TEXT;

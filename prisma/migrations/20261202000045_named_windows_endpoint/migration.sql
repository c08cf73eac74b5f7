-- Serves versions from: 20261201000000_initial
-- A size without an endpoint counts for none, so those that were kept before are learnt again.
ALTER TABLE "named_windows" ADD COLUMN     "endpoint" TEXT NOT NULL DEFAULT '';

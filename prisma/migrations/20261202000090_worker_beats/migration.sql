-- Serves versions from: 20261201000000_initial
CREATE TABLE "worker_beats" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "build_id" TEXT,
    "roles" TEXT[],
    "slots" INTEGER NOT NULL,
    "used" INTEGER NOT NULL,
    "disk_free" DOUBLE PRECISION,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "worker_beats_pkey" PRIMARY KEY ("id")
);

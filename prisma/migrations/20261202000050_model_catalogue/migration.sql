-- Serves versions from: 20261201000000_initial
CREATE TABLE "model_catalogue" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "models" JSONB NOT NULL,
    "digest" TEXT NOT NULL,
    "as_of" TEXT NOT NULL,
    "is_forced" BOOLEAN NOT NULL,
    "source" TEXT NOT NULL,
    "updated_by" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "model_catalogue_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "model_catalogue_one_row" CHECK ("id" = 1)
);

-- Serves versions from: 20261201000000_initial
CREATE TABLE "named_windows" (
    "provider_id" UUID NOT NULL,
    "model" TEXT NOT NULL,
    "context_window" INTEGER NOT NULL,
    "is_refusal" BOOLEAN NOT NULL,
    "named_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "named_windows_pkey" PRIMARY KEY ("provider_id","model")
);

ALTER TABLE "named_windows" ADD CONSTRAINT "named_windows_provider_id_fkey" FOREIGN KEY ("provider_id") REFERENCES "providers"("id") ON DELETE CASCADE ON UPDATE CASCADE;

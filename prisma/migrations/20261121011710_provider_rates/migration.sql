-- CreateTable
CREATE TABLE "provider_rates" (
    "provider_id" UUID NOT NULL,
    "next_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "provider_rates_pkey" PRIMARY KEY ("provider_id")
);

-- AddForeignKey
ALTER TABLE "provider_rates" ADD CONSTRAINT "provider_rates_provider_id_fkey" FOREIGN KEY ("provider_id") REFERENCES "providers"("id") ON DELETE CASCADE ON UPDATE CASCADE;

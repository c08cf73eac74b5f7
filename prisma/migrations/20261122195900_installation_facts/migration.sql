-- What an installation knows about itself, such as that it was given its sample once.
CREATE TABLE "installation_facts" (
    "name" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "installation_facts_pkey" PRIMARY KEY ("name")
);

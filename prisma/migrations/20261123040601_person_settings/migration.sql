-- Serves versions from: 20261122195900_installation_facts
-- What a person has set for themselves, such as the saved views of their lists.
CREATE TABLE "person_settings" (
  "owner" TEXT NOT NULL,
  "views" JSONB NOT NULL DEFAULT '[]',
  "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "person_settings_pkey" PRIMARY KEY ("owner")
);

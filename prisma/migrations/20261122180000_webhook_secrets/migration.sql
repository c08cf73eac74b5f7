-- What an owner's webhooks are signed with. Without a row: the installation's secret. While previous_until has not come, a second
-- signature is made with the previous one; the installation's when there is none here.
CREATE TABLE "webhook_secrets" (
    "owner" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "rotated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "previous_sealed" BYTEA,
    "previous_key_id" TEXT,
    "previous_until" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "webhook_secrets_pkey" PRIMARY KEY ("owner")
);

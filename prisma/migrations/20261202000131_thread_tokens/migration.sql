-- Serves versions from: 20261202000091_alert_channels
CREATE TABLE "thread_tokens" (
    "hash" BYTEA NOT NULL,
    "thread_id" UUID NOT NULL,
    "scopes" TEXT[],
    "service_key_id" UUID,
    "origins" TEXT[],
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "thread_tokens_pkey" PRIMARY KEY ("hash")
);
CREATE INDEX "thread_tokens_thread_id_idx" ON "thread_tokens"("thread_id");
CREATE INDEX "thread_tokens_service_key_id_idx" ON "thread_tokens"("service_key_id");
CREATE INDEX "thread_tokens_expires_at_idx" ON "thread_tokens"("expires_at");
ALTER TABLE "thread_tokens" ADD CONSTRAINT "thread_tokens_thread_id_fkey" FOREIGN KEY ("thread_id") REFERENCES "threads"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "thread_tokens" ADD CONSTRAINT "thread_tokens_service_key_id_fkey" FOREIGN KEY ("service_key_id") REFERENCES "service_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE;

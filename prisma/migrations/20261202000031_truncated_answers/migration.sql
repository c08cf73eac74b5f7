-- Serves versions from: 20261201000000_initial
ALTER TABLE "tasks" ADD COLUMN "truncated" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "chat_messages" ADD COLUMN "truncated" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "chat_messages" ADD COLUMN "estimated" BOOLEAN NOT NULL DEFAULT false;

-- Serves versions from: 20261122195900_installation_facts
-- Which question a reply belongs to, and which question is being replied to: two questions of a session are answered in turn. Older
-- versions note neither, and answer at once.
ALTER TABLE "chat_messages" ADD COLUMN "question_id" UUID, ADD COLUMN "reply_until" TIMESTAMPTZ(3);

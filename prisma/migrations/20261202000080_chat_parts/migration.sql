-- Serves versions from: 20261202000070_service_tier
ALTER TABLE "chat_messages" ADD COLUMN     "reply_error" TEXT;
CREATE TABLE "chat_parts" (
    "question_id" UUID NOT NULL,
    "first" INTEGER NOT NULL,
    "parts" TEXT[],

    CONSTRAINT "chat_parts_pkey" PRIMARY KEY ("question_id","first")
);
ALTER TABLE "chat_parts" ADD CONSTRAINT "chat_parts_question_id_fkey" FOREIGN KEY ("question_id") REFERENCES "chat_messages"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What someone has stored is summed up whenever they store more.
CREATE INDEX "knowledge_items_created_by_idx" ON "knowledge_items"("created_by");
CREATE INDEX "memories_created_by_idx" ON "memories"("created_by");

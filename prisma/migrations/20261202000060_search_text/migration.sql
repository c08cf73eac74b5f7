-- Parts of words, Japanese, emoji and ids are found, not whole words only.
ALTER TABLE "tasks" DROP COLUMN "words";
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- A text as lists are searched for parts of it: lower case, and every byte that is not ASCII as its number, because pg_trgm indexes
-- ASCII letters and digits in every locale, but Japanese or an emoji in none or few.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION search_text(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT encode(convert_to(lower(p_text), 'UTF8'), 'escape')
$$;

CREATE INDEX "tasks_text" ON "tasks" USING GIN (search_text("id"::text || ' ' || left("prompt", 50000) || ' ' || left(coalesce("response" #>> '{}', ''), 50000) || ' ' || left(coalesce("error", ''), 5000)) gin_trgm_ops);

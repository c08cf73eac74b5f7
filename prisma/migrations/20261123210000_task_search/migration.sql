-- Serves versions from: 20261122195900_installation_facts
-- Tasks are found by the words of their prompt, answer and error. A long text is searched in its first part: more than a megabyte of
-- words cannot be indexed. The words are stored: a search for what many tasks lack reads them all. Adding them writes the whole table again,
-- which takes about a minute for each million tasks.
ALTER TABLE tasks ADD COLUMN words tsvector GENERATED ALWAYS AS (to_tsvector('simple'::regconfig,
  left(prompt, 50000) || ' ' || left(coalesce(response::text, ''), 50000) || ' ' || left(coalesce(error, ''), 5000))) STORED;
CREATE INDEX tasks_words ON tasks USING gin (words);

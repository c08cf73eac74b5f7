import { statement } from '../database/statement.ts';

export const hasVector = statement('has_vector', [], `SELECT 1 FROM pg_extension WHERE extname = 'vector'`);

export const writeKnowledgeItem = statement(
  'write_knowledge_item',
  ['id', 'source_id', 'name', 'description', 'content_type', 'content', 'tags', 'metadata', 'status', 'last_error', 'created_by'],
  `INSERT INTO knowledge_items (id, source_id, name, description, content_type, content, tags, metadata, status, last_error, created_by)
    VALUES (:id, :source_id, :name, :description, :content_type, :content, :tags, :metadata, :status, :last_error, :created_by)
    ON CONFLICT (id) DO UPDATE SET source_id = :source_id, name = :name, description = :description, content_type = :content_type,
      content = :content, tags = :tags, metadata = :metadata, status = :status, last_error = :last_error, updated_at = now()`,
);

export const dropKnowledgeChunks = statement(
  'drop_knowledge_chunks',
  ['item_id'],
  `DELETE FROM knowledge_chunks WHERE item_id = :item_id`,
);

/** Adds chunks of an item. `vectors` are array literals; `embedder` is the model that made them. */
export const addKnowledgeChunks = statement(
  'add_knowledge_chunks',
  ['item_id', 'contents', 'vectors', 'embedder'],
  `INSERT INTO knowledge_chunks (item_id, position, content, embedding, embedder)
    SELECT :item_id, (c.ord - 1)::int, c.content, c.vector::real[], :embedder
    FROM unnest(:contents::text[], :vectors::text[]) WITH ORDINALITY AS c (content, vector, ord)`,
);

const WITHIN = `(:source_ids::text[] IS NULL OR i.source_id::text = ANY (:source_ids)) AND (:tags::text[] IS NULL OR i.tags && :tags)`;

export const newestKnowledge = statement(
  'newest_knowledge',
  ['source_ids', 'tags', 'limit'],
  `SELECT i.id AS item_id, i.source_id, i.name, i.tags, 0 AS position, c.content, 0::float8 AS score,
      NULL::float8 AS text_score, NULL::float8 AS vector_score
    FROM knowledge_items i JOIN knowledge_chunks c ON c.item_id = i.id AND c.position = 0
    WHERE ${WITHIN} ORDER BY i.id DESC LIMIT :limit`,
);

/**
 * Compares only vectors of `embedder`. A chunk's word score is relative to the best one, so that it can be added to its vector
 * similarity.
 */
const buildSearch = (resemblance: string) => `
  WITH words AS (
      SELECT c.item_id, c.position, ts_rank(c.search, q, 33)::float8 AS score
      FROM to_tsquery('simple', :words) q, knowledge_chunks c JOIN knowledge_items i ON i.id = c.item_id
      WHERE c.search @@ q AND ${WITHIN} ORDER BY score DESC LIMIT :limit),
    near AS (
      SELECT c.item_id, c.position, ${resemblance} AS score
      FROM knowledge_chunks c JOIN knowledge_items i ON i.id = c.item_id
      WHERE :vector::real[] IS NOT NULL AND c.embedder = :embedder AND cardinality(c.embedding) = cardinality(:vector::real[])
        AND ${WITHIN} ORDER BY score DESC LIMIT :limit),
    scored AS (
      SELECT item_id, position, w.score / max(w.score) OVER () AS text_score,
        CASE WHEN n.score < 0 THEN 0 ELSE n.score END AS vector_score
      FROM words w FULL JOIN near n USING (item_id, position))
  SELECT s.item_id, i.source_id, i.name, i.tags, s.position, c.content, s.text_score, s.vector_score,
    CASE WHEN :vector::real[] IS NULL THEN s.text_score
      ELSE (coalesce(s.text_score, 0) + coalesce(least(s.vector_score, 1), 0)) / 2 END AS score
  FROM scored s JOIN knowledge_items i ON i.id = s.item_id JOIN knowledge_chunks c USING (item_id, position)
  ORDER BY score DESC, s.item_id, s.position LIMIT :limit`;

/** Compares arrays. The result is exact; the time grows with the number of chunks. */
export const searchPassages = statement(
  'search_passages',
  ['source_ids', 'tags', 'limit', 'words', 'vector', 'embedder'],
  buildSearch('(SELECT sum(a * b)::float8 FROM unnest(c.embedding, :vector::real[]) AS v (a, b))'),
);

/** Uses the vector extension, if it is installed. The scores are the same, and it is faster. */
export const searchPassagesExtended = statement(
  'search_passages_extended',
  ['source_ids', 'tags', 'limit', 'words', 'vector', 'embedder'],
  buildSearch('1 - (c.embedding::vector <=> (:vector::real[])::vector)'),
);

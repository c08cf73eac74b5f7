export const HAS_VECTOR = { name: 'has_vector', text: `SELECT 1 FROM pg_extension WHERE extname = 'vector'` };

export const WRITE_ITEM = {
  name: 'write_knowledge_item',
  text: `INSERT INTO knowledge_items (id, source_id, name, description, content_type, content, tags, metadata, status, last_error, created_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT (id) DO UPDATE SET source_id = $2, name = $3, description = $4, content_type = $5, content = $6, tags = $7,
      metadata = $8, status = $9, last_error = $10, updated_at = now()`,
};

export const DROP_CHUNKS = { name: 'drop_knowledge_chunks', text: 'DELETE FROM knowledge_chunks WHERE item_id = $1' };

/* $2 texts, $3 vectors as array literals, $4 what made them. */
export const ADD_CHUNKS = {
  name: 'add_knowledge_chunks',
  text: `INSERT INTO knowledge_chunks (item_id, position, content, embedding, embedder)
    SELECT $1, (c.ord - 1)::int, c.content, c.vector::real[], $4
    FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS c (content, vector, ord)`,
};

/* In the searches: $1 source ids or null, $2 tags or null, $3 limit. */
const WITHIN = `($1::text[] IS NULL OR i.source_id::text = ANY ($1)) AND ($2::text[] IS NULL OR i.tags && $2)`;

export const NEWEST = {
  name: 'newest_knowledge',
  text: `SELECT i.id AS item_id, i.source_id, i.name, i.tags, 0 AS position, c.content, 0::float8 AS score,
      NULL::float8 AS text_score, NULL::float8 AS vector_score
    FROM knowledge_items i JOIN knowledge_chunks c ON c.item_id = i.id AND c.position = 0
    WHERE ${WITHIN} ORDER BY i.id DESC LIMIT $3`,
};

/**
 * $4 words, $5 vector or null, $6 what makes vectors: those of another maker are not compared. A chunk's word score is relative to
 * the best one, so that it can be added to its resemblance.
 */
const searchBy = (resemblance: string) => `
  WITH words AS (
      SELECT c.item_id, c.position, ts_rank(c.search, q, 33)::float8 AS score
      FROM to_tsquery('simple', $4) q, knowledge_chunks c JOIN knowledge_items i ON i.id = c.item_id
      WHERE c.search @@ q AND ${WITHIN} ORDER BY score DESC LIMIT $3),
    near AS (
      SELECT c.item_id, c.position, ${resemblance} AS score
      FROM knowledge_chunks c JOIN knowledge_items i ON i.id = c.item_id
      WHERE $5::real[] IS NOT NULL AND c.embedder = $6 AND cardinality(c.embedding) = cardinality($5::real[]) AND ${WITHIN}
      ORDER BY score DESC LIMIT $3),
    scored AS (
      SELECT item_id, position, w.score / max(w.score) OVER () AS text_score, CASE WHEN n.score < 0 THEN 0 ELSE n.score END AS vector_score
      FROM words w FULL JOIN near n USING (item_id, position))
  SELECT s.item_id, i.source_id, i.name, i.tags, s.position, c.content, s.text_score, s.vector_score,
    CASE WHEN $5::real[] IS NULL THEN s.text_score
      ELSE (coalesce(s.text_score, 0) + coalesce(least(s.vector_score, 1), 0)) / 2 END AS score
  FROM scored s JOIN knowledge_items i ON i.id = s.item_id JOIN knowledge_chunks c USING (item_id, position)
  ORDER BY score DESC, s.item_id, s.position LIMIT $3`;

/** Over arrays: exact, and slower the more there is. */
export const SEARCH = {
  name: 'search_knowledge',
  text: searchBy('(SELECT sum(a * b)::float8 FROM unnest(c.embedding, $5::real[]) AS v (a, b))'),
};

/** By the extension where it is installed: the same numbers, sooner. */
export const SEARCH_EXTENDED = {
  name: 'search_knowledge_extended',
  text: searchBy('1 - (c.embedding::vector <=> ($5::real[])::vector)'),
};

import { statement } from '../statement.ts';

/**
 * A write also deletes the agent's expired memories. If someone else owns the key, nothing is written or returned. A workflow's
 * memories belong to its owner, regardless of who wrote them.
 */
export const upsertMemory = statement(
  'upsert_memory',
  ['id', 'agent_id', 'scope', 'key', 'workflow_id', 'value', 'metadata', 'ttl', 'task_id', 'created_by'],
  `WITH expired AS (
      DELETE FROM memories WHERE agent_id = :agent_id AND ttl <= now()
        AND NOT (scope = :scope AND key = :key AND workflow_id = :workflow_id))
    INSERT INTO memories (id, agent_id, scope, key, workflow_id, value, metadata, ttl, task_id, created_by)
    VALUES (:id, :agent_id, :scope, :key, :workflow_id, :value, :metadata, :ttl, :task_id, :created_by)
    ON CONFLICT (agent_id, scope, key, workflow_id) DO UPDATE SET value = excluded.value, metadata = excluded.metadata,
      ttl = excluded.ttl, task_id = excluded.task_id, created_by = excluded.created_by, updated_at = now()
      WHERE memories.created_by = excluded.created_by OR memories.scope = 'session' OR memories.ttl <= now()
    RETURNING *`,
);

/** What a run of the agent sees: memories shared by all agents, the agent's, and its workflow's. */
const SEEN = `(ttl IS NULL OR ttl > now()) AND (scope = 'global' OR agent_id = :agent_id AND (scope = 'agent'
  OR (:workflow_id::text IS NULL OR workflow_id = :workflow_id)
    AND workflow_id IN (SELECT id::text FROM workflows WHERE owner = :viewer)))`;

export const searchMemories = statement(
  'search_memories',
  ['agent_id', 'workflow_id', 'viewer', 'words', 'scope', 'limit'],
  `SELECT m.*, ts_rank(to_tsvector('simple', m.key || ' ' || m.value), q, 32)::float8 AS score
    FROM memories m, to_tsquery('simple', :words) q
    WHERE ${SEEN} AND (:scope::text IS NULL OR scope = :scope) AND to_tsvector('simple', m.key || ' ' || m.value) @@ q
    ORDER BY score DESC, updated_at DESC LIMIT :limit`,
);

export const newestMemories = statement(
  'newest_memories',
  ['agent_id', 'workflow_id', 'viewer', 'limit'],
  `SELECT * FROM memories WHERE ${SEEN} ORDER BY updated_at DESC, id DESC LIMIT :limit`,
);

import { statement } from '../database/statement.ts';

/** The home of an owner's memories. It is a UUID, like the home of a session memory. */
const buildOwnerHome = (owner: string) => `overlay(overlay(md5(${owner}) placing '8' from 13) placing '8' from 17)::uuid::text`;

/** The value of a memory's column after an upsert: an expired memory counts as deleted, so what replaces it is a new one. */
const buildFirst = (column: string) => `CASE WHEN memories.ttl <= now() THEN excluded.${column} ELSE memories.${column} END`;

/**
 * Writes a memory and deletes the agent's expired ones. If someone else owns the key, nothing is written or returned. A
 * workflow's memories belong to its owner, regardless of who wrote them.
 */
export const upsertMemory = statement(
  'upsert_memory',
  ['id', 'agent_id', 'scope', 'key', 'workflow_id', 'owner', 'value', 'metadata', 'ttl', 'task_id', 'created_by'],
  `WITH home AS (SELECT coalesce(${buildOwnerHome(':owner::text')}, :workflow_id::text) AS id),
    expired AS (
      DELETE FROM memories m USING home WHERE m.agent_id = :agent_id AND m.ttl <= now()
        AND NOT (m.scope = :scope AND m.key = :key AND m.workflow_id = home.id))
    INSERT INTO memories (id, agent_id, scope, key, workflow_id, owner, value, metadata, ttl, task_id, created_by)
    SELECT :id::uuid, :agent_id::uuid, :scope, :key, home.id, :owner, :value, :metadata::jsonb, :ttl::timestamptz, :task_id::uuid, :created_by FROM home
    ON CONFLICT (agent_id, scope, key, workflow_id) DO UPDATE SET id = ${buildFirst('id')},
      created_at = ${buildFirst('created_at')}, value = excluded.value, metadata = excluded.metadata,
      ttl = excluded.ttl, task_id = excluded.task_id, created_by = excluded.created_by, updated_at = now()
      WHERE memories.created_by = excluded.created_by OR memories.scope = 'session' OR memories.ttl <= now()
    RETURNING *`,
);

/**
 * The memories `m` that runs of the agent see: those for all agents, the agent's, and their workflow's. If `workflow_id` is NULL,
 * those of any of the viewer's workflows. Memories of other owners are never visible.
 */
const VISIBLE = `(m.ttl IS NULL OR m.ttl > now()) AND (m.owner IS NULL OR m.owner = :viewer) AND (m.scope = 'global' OR m.agent_id = :agent_id AND (m.scope = 'agent'
  OR (:workflow_id::text IS NULL OR m.workflow_id = :workflow_id::text)
    AND m.workflow_id IN (SELECT id::text FROM workflows WHERE owner = :viewer)))`;
export const searchMemories = statement(
  'search_memories',
  ['agent_id', 'workflow_id', 'viewer', 'words', 'scope', 'limit'],
  `SELECT m.*, ts_rank(to_tsvector('simple', m.key || ' ' || m.value), q, 32)::float8 AS score
    FROM memories m, to_tsquery('simple', :words) q
    WHERE ${VISIBLE} AND (:scope::text IS NULL OR m.scope = :scope) AND to_tsvector('simple', m.key || ' ' || m.value) @@ q
    ORDER BY score DESC, m.updated_at DESC LIMIT :limit`,
);

export const newestMemories = statement(
  'newest_memories',
  ['agent_id', 'workflow_id', 'viewer', 'limit'],
  `SELECT m.* FROM memories m WHERE ${VISIBLE}
    ORDER BY m.updated_at DESC, m.id DESC LIMIT :limit`,
);

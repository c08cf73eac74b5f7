import type pg from 'pg';
import { v7 as uuid } from 'uuid';
import type { Memory } from '../contracts/memories.ts';
import { conflict } from '../domain/errors.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import { row, rows } from './database.ts';
import { type RowPage, wire } from './page.ts';
import { type Resource, type RowFilter, resource } from './resource.ts';

interface NewMemory {
  id?: string | undefined;
  agent_id: string;
  scope: string;
  workflow_id?: string | null | undefined;
  key: string;
  value: string;
  metadata?: Record<string, unknown> | undefined;
  ttl?: string | null | undefined;
  /** The run that stores it. */
  task_id?: string | null;
  created_by: string;
}

interface MemoryQuery {
  agent_id: string;
  query: string;
  scope?: string | undefined;
  /** Whose session memories are seen; left out: those of all of the viewer's workflows. */
  workflow_id?: string | undefined;
  /** The principal who asks: nobody sees session memories of another's workflows. */
  viewer: string;
  limit: number;
}

/**
 * A write drops what has expired of the same agent: nothing reads it any more. What someone else keeps under the same key stays:
 * then nothing is returned. A workflow's own memories are its owner's, whoever wrote them.
 */
const UPSERT = {
  name: 'upsert_memory',
  text: `WITH expired AS (DELETE FROM memories WHERE agent_id = $2 AND ttl <= now() AND NOT (scope = $3 AND key = $4 AND workflow_id = $5))
    INSERT INTO memories (id, agent_id, scope, key, workflow_id, value, metadata, ttl, task_id, created_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (agent_id, scope, key, workflow_id) DO UPDATE SET value = excluded.value, metadata = excluded.metadata,
      ttl = excluded.ttl, task_id = excluded.task_id, created_by = excluded.created_by, updated_at = now()
      WHERE memories.created_by = excluded.created_by OR memories.scope = 'session' OR memories.ttl <= now()
    RETURNING *`,
};

/** What a run of the agent sees: what all agents share, its own, and its workflow's. */
const SEEN = `(ttl IS NULL OR ttl > now()) AND (scope = 'global' OR agent_id = $1 AND (scope = 'agent'
  OR ($2::text IS NULL OR workflow_id = $2) AND workflow_id IN (SELECT id::text FROM workflows WHERE owner = $3)))`;

const SEARCH = {
  name: 'search_memories',
  text: `SELECT m.*, ts_rank(to_tsvector('simple', m.key || ' ' || m.value), q, 32)::float8 AS score
    FROM memories m, to_tsquery('simple', $4) q
    WHERE ${SEEN} AND ($5::text IS NULL OR scope = $5) AND to_tsvector('simple', m.key || ' ' || m.value) @@ q
    ORDER BY score DESC, updated_at DESC LIMIT $6`,
};

const NEWEST = {
  name: 'newest_memories',
  text: `SELECT * FROM memories WHERE ${SEEN} ORDER BY updated_at DESC, id DESC LIMIT $4`,
};

/** Any of the words of a text, as Postgres asks for them; empty when there is none. */
const anyWordOf = (text: string) =>
  [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])]
    .slice(0, 64)
    .map((word) => `'${word}'`)
    .join(' | ');

const memoryOfRow = <M extends object>(found: M) => ({
  ...wire(found),
  workflow_id: (found as { workflow_id?: string }).workflow_id || null,
});

export function memoryStore(pool: pg.Pool, prisma: PrismaClient) {
  const table = resource<Memory>(prisma.memory, { noun: 'memory', tagged: false, searched: ['key', 'value'] });
  const alive = () => ({ OR: [{ ttl: null }, { ttl: { gt: new Date() } }] });
  const expired = ({ ttl }: Memory) => ttl !== null && Date.parse(ttl) <= Date.now();

  async function upsert({ id = uuid(), workflow_id, metadata, ttl, task_id, ...memory }: NewMemory): Promise<Memory> {
    const { agent_id, scope, key, value, created_by } = memory;
    const home = scope === 'session' ? (workflow_id ?? '') : '';
    const values = [
      id,
      agent_id,
      scope,
      key,
      home,
      value,
      JSON.stringify(metadata ?? {}),
      ttl ?? null,
      task_id ?? null,
      created_by,
    ];
    const written = await row<object>(pool, UPSERT, values);
    if (!written)
      throw conflict(
        `Someone else keeps a memory under the key ${key} in the scope ${scope}; choose another key`,
        'memory_of_another',
      );
    return memoryOfRow(written) as Memory;
  }

  const ownWorkflows = async (owner: string) =>
    (await prisma.workflow.findMany({ where: { owner }, select: { id: true } })).map(({ id }) => id);

  const crud: Omit<Resource<Memory>, 'list'> & { list(filter: RowFilter, viewer: string): Promise<RowPage<Memory>> } = {
    async list(filter: RowFilter & { agent_id?: string; scope?: string }, viewer) {
      const { agent_id, scope } = filter;
      const seen = { OR: [{ scope: { not: 'session' } }, { workflow_id: { in: await ownWorkflows(viewer) } }] };
      const page = await table.list(filter, { AND: [alive(), seen, agent_id ? { agent_id } : {}, scope ? { scope } : {}] });
      return { ...page, items: page.items.map(memoryOfRow) as Memory[] };
    },
    async find(id) {
      const found = await table.find(id);
      return found && !expired(found) ? (memoryOfRow(found) as Memory) : null;
    },
    create: (values) => upsert(values as NewMemory),
    update: async (id, values) => memoryOfRow(await table.update(id, values)) as Memory,
    remove: table.remove,
  };

  return {
    ...crud,
    upsert,
    /** Best first. */
    async search({ agent_id, query, scope, workflow_id, viewer, limit }: MemoryQuery) {
      const words = anyWordOf(query);
      if (!words) return [];
      const found = await rows<object>(pool, SEARCH, [agent_id, workflow_id ?? null, viewer, words, scope ?? null, limit]);
      return found.map(memoryOfRow) as (Memory & { score: number })[];
    },
    /** The ones written last that runs of an agent see. */
    async newest(
      agent_id: string,
      { workflow_id, viewer, limit }: Pick<MemoryQuery, 'workflow_id' | 'viewer' | 'limit'>,
    ): Promise<Memory[]> {
      return (await rows<object>(pool, NEWEST, [agent_id, workflow_id ?? null, viewer, limit])).map(memoryOfRow) as Memory[];
    },
    async forgetAgent(agent_id: string): Promise<void> {
      await prisma.memory.deleteMany({ where: { agent_id } });
    },
  };
}

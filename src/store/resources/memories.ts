import type pg from 'pg';
import { v7 as uuid } from 'uuid';
import type { Memory } from '../../contracts/memories.ts';
import { conflict } from '../../domain/errors.ts';
import type { PrismaClient } from '../../generated/prisma/client.ts';
import { row, rows } from '../database/database.ts';
import { type RowPage, wire } from '../database/page.ts';
import { type Resource, type RowFilter, resource } from '../database/resource.ts';
import * as sql from './memories.sql.ts';

interface NewMemory {
  id?: string | undefined;
  agent_id: string;
  scope: string;
  workflow_id?: string | null | undefined;
  key: string;
  value: string;
  metadata?: Record<string, unknown> | undefined;
  ttl?: string | null | undefined;
  /** The run that writes the memory. */
  task_id?: string | null;
  /** The owner whose runs alone recall the memory; null: all runs that its scope includes. */
  owner?: string | null;
  created_by: string;
}

interface MemoryQuery {
  agent_id: string;
  query: string;
  scope?: string | undefined;
  /** The workflow whose session memories are included; absent: all of the viewer's workflows. */
  workflow_id?: string | undefined;
  /** The caller: session memories of other users' workflows are never included. */
  viewer: string;
  limit: number;
}

/** The person who lists memories. Administrators see the memories of every owner, except those of workflows. */
interface Viewer {
  key: string;
  is_admin: boolean;
}

/** Returns a Postgres text query that matches any word of the text; empty if it has no words. */
const toAnyWordQuery = (text: string) =>
  [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])]
    .slice(0, 64)
    .map((word) => `'${word}'`)
    .join(' | ');

const toMemory = <M extends object>(record: M) => ({
  ...wire(record),
  workflow_id: (record as { scope?: string }).scope === 'session' ? (record as { workflow_id?: string }).workflow_id : null,
});

export function memoryStore(pool: pg.Pool, prisma: PrismaClient) {
  const table = resource<Memory>(prisma.memory, { noun: 'memory', has_tags: false, search_columns: ['key', 'value'] });
  const alive = () => ({ OR: [{ ttl: null }, { ttl: { gt: new Date() } }] });
  const isExpired = ({ ttl }: Memory) => ttl !== null && Date.parse(ttl) <= Date.now();

  async function upsert({ id = uuid(), workflow_id, metadata, ttl, task_id, owner, ...memory }: NewMemory): Promise<Memory> {
    const { agent_id, scope, key, value, created_by } = memory;
    const home = scope === 'session' ? workflow_id! : '';
    const whose = { created_by, workflow_id: home, owner: scope === 'session' ? null : (owner ?? null) };
    const values = { id, agent_id, scope, key, value, ...whose, ttl: ttl ?? null, task_id: task_id ?? null };
    const memory_row = await row<object>(pool, sql.upsertMemory({ ...values, metadata: JSON.stringify(metadata ?? {}) }));
    if (!memory_row)
      throw conflict(
        `Someone else keeps a memory under the key ${key} in the scope ${scope}; choose another key`,
        'memory_of_another',
      );
    return toMemory(memory_row) as Memory;
  }

  const ownWorkflows = async (owner: string) =>
    (await prisma.workflow.findMany({ where: { owner }, select: { id: true } })).map(({ id }) => id);

  const crud: Omit<Resource<Memory>, 'list'> & { list(filter: RowFilter, viewer: Viewer): Promise<RowPage<Memory>> } = {
    async list(filter: RowFilter & { agent_id?: string; scope?: string }, viewer) {
      const { agent_id, scope } = filter;
      const shared = viewer.is_admin ? {} : { OR: [{ owner: null }, { owner: viewer.key }] };
      const visibility_filter = {
        OR: [{ scope: { not: 'session' }, ...shared }, { workflow_id: { in: await ownWorkflows(viewer.key) } }],
      };
      const page = await table.list(filter, {
        AND: [alive(), visibility_filter, agent_id ? { agent_id } : {}, scope ? { scope } : {}],
      });
      return { ...page, items: page.items.map(toMemory) as Memory[] };
    },
    async find(id) {
      const memory = await table.find(id);
      return memory && !isExpired(memory) ? (toMemory(memory) as Memory) : null;
    },
    create: (values) => upsert(values as NewMemory),
    update: async (id, values) => toMemory(await table.update(id, values)) as Memory,
    remove: table.remove,
  };

  return {
    ...crud,
    upsert,
    /** Returns the matching memories, best first. */
    async search({ agent_id, query, scope, workflow_id, viewer, limit }: MemoryQuery) {
      const words = toAnyWordQuery(query);
      if (!words) return [];
      const place = { agent_id, workflow_id: workflow_id ?? null, viewer };
      const memories = await rows<object>(pool, sql.searchMemories({ ...place, words, scope: scope ?? null, limit }));
      return memories.map(toMemory) as (Memory & { score: number })[];
    },
    /** Lists the latest ones that runs of an agent see; without a workflow, in all workflows of the viewer. */
    async newest({ agent_id, workflow_id, viewer, limit }: Omit<MemoryQuery, 'query' | 'scope'>): Promise<Memory[]> {
      const query = sql.newestMemories({ agent_id, workflow_id: workflow_id ?? null, viewer, limit });
      return (await rows<object>(pool, query)).map(toMemory) as Memory[];
    },
    async forgetAgent(agent_id: string): Promise<void> {
      await prisma.memory.deleteMany({ where: { agent_id } });
    },
  };
}

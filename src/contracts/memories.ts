import { z } from 'zod';
import { Id, JsonRecord, ListQuery, Timestamp, toPatchSchema } from './common.ts';
import { crud, endpoint } from './endpoint.ts';

export const MEMORY_SCOPES = ['session', 'agent', 'global'] as const;

export const MemoryCreate = z
  .object({
    agent_id: Id,
    scope: z
      .enum(MEMORY_SCOPES)
      .default('agent')
      .meta({
        description:
          'Recalled by runs of one workflow (session), of the agent, or of all agents (global). `agent` needs the right to change the agent, ' +
          '`global` an administrator',
      }),
    workflow_id: Id.nullable()
      .default(null)
      .meta({ description: 'The workflow of a memory with the scope `session`; no other has one' }),
    key: z.string().min(1).max(500).meta({ example: 'favourite colour' }),
    value: z.string().min(1).max(100_000).meta({ example: 'green' }),
    metadata: z.record(z.string(), z.unknown()).default({}),
    ttl: z.iso.datetime({ offset: true }).nullable().default(null).meta({ description: 'When it expires; null: never' }),
  })
  .meta({ id: 'MemoryCreate' });

export const MemoryUpdate = toPatchSchema(MemoryCreate.pick({ value: true, metadata: true, ttl: true })).meta({
  id: 'MemoryUpdate',
});

export const Memory = z
  .object({
    ...JsonRecord,
    ...MemoryCreate.shape,
    ttl: Timestamp.nullable(),
    task_id: Id.nullable().meta({ description: 'The run that stored it' }),
    owner: z.string().nullable().meta({
      description: 'Whose runs alone recall it, because one of them stored it. Null: everyone’s that its scope includes',
    }),
  })
  .meta({ id: 'Memory' });
export type Memory = z.output<typeof Memory>;

const MemoryFound = Memory.extend({ score: z.number() }).meta({ id: 'MemoryFound' });

/** The query of a memory search. Its reply is a bare array and cannot carry warnings, so unknown fields are refused. */
const MemorySearch = z
  .strictObject({
    agent_id: Id,
    query: z.string().min(1),
    scope: z.enum(MEMORY_SCOPES).optional(),
    workflow_id: Id.optional().meta({
      description: 'The workflow whose session memories to search; left out: all your workflows',
    }),
    limit: z.int().min(1).max(100).default(10),
  })
  .meta({ id: 'MemorySearch' });

const tag = 'Memories';

export const memories = {
  ...crud(
    { path: '/api/memories', noun: 'memory', plural: 'memories', tag },
    {
      record: Memory,
      create: MemoryCreate,
      update: MemoryUpdate,
      query: ListQuery.extend({
        q: z.string().optional().meta({ description: 'Part of the key or value' }),
        agent_id: Id.optional(),
        scope: z.enum(MEMORY_SCOPES).optional(),
      }),
    },
  ),
  search: endpoint('POST /api/memories/search', {
    operation: 'search_memories',
    access: 'read',
    tag,
    summary: 'Search what an agent remembers',
    description: 'Full text over key and value, best first. Expired memories are never found.',
    body: MemorySearch,
    reply: z.array(MemoryFound),
  }),
  stm: endpoint('GET /api/memories/stm/{agent_id}', {
    operation: 'short_term_memory',
    tag,
    summary: "An agent's newest memories",
    description: 'The 20 that were written last. Session memories are seen by the owner of their workflow only.',
    params: z.object({ agent_id: Id }),
    reply: z.array(Memory),
  }),
};

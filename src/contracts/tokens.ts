import { z } from 'zod';
import { Id, JsonRecord, ListQuery, Name, Timestamp, toPatchSchema, UntaggedQuery } from './common.ts';
import { crud, endpoint, IdParams } from './endpoint.ts';
import { MASK } from './mcps.ts';

export const StoredTokenCreate = z
  .object({
    name: Name.regex(/^[\w.-]+$/, 'Use letters, digits, dot, dash and underscore').meta({ example: 'openai-key' }),
    value: z.string().min(1).max(65_536).meta({ description: 'Held encrypted; never returned', writeOnly: true }),
    description: z.string().default(''),
    shared: z
      .boolean()
      .default(false)
      .meta({ description: 'Whether runs and requests of others may use it, through the resources it is granted to' }),
  })
  .meta({ id: 'StoredTokenCreate' });

export const StoredTokenUpdate = toPatchSchema(StoredTokenCreate.omit({ name: true })).meta({
  id: 'StoredTokenUpdate',
  example: { value: 'the-new-value' },
});

export const StoredToken = z
  .object({
    ...JsonRecord,
    name: z.string(),
    description: z.string(),
    shared: z.boolean(),
    masked_value: z.literal(MASK).default(MASK).meta({ description: 'A placeholder; the value is never returned' }),
    fingerprint: z
      .string()
      .meta({ description: 'Distinguishes two values without revealing either; empty for administrators, who do not own it' }),
    used_by: z
      .array(z.string())
      .meta({ description: 'What it is granted to, such as "provider my-openai"; empty for administrators, who do not own it' }),
  })
  .meta({ id: 'StoredToken' });
export type StoredToken = z.output<typeof StoredToken>;

const HOLDERS = ['provider', 'custom_tool', 'mcp_server', 'knowledge_source', 'workflow'] as const;

const Destination = z
  .string()
  .min(1)
  .max(100)
  .meta({ description: 'Keyed fingerprint of everything that decides where the value goes' });

export const TokenGrant = z
  .object({
    id: Id.nullable().meta({ description: 'Null while it is only requested' }),
    status: z.enum(['granted', 'asked', 'outdated']).meta({
      description: 'asked: a resource names the token and its owner has not agreed; outdated: the resource has changed since',
    }),
    resource_type: z.enum(HOLDERS),
    resource_id: Id,
    resource_name: z.string(),
    destination_label: z.string().meta({ description: 'The destination in words, without secrets' }),
    destination: Destination,
    granted_at: Timestamp.nullable(),
  })
  .meta({ id: 'TokenGrant' });
export type TokenGrant = z.output<typeof TokenGrant>;

const TokenGrantCreate = TokenGrant.pick({ resource_type: true, resource_id: true, destination: true }).meta({
  id: 'TokenGrantCreate',
});

export const TokenUse = z
  .object({
    id: Id,
    used_at: Timestamp,
    used_by: z.string().meta({ description: 'Login of the principal who requested it' }),
    task_id: Id.nullable().meta({ description: 'The run; null for a request' }),
    resource_kind: z.enum(HOLDERS),
    resource_id: Id,
    resource_name: z.string(),
    destination_label: z.string(),
    granted: z.boolean(),
  })
  .meta({ id: 'TokenUse' });
export type TokenUse = z.output<typeof TokenUse>;

const facts = { tag: 'Stored tokens', params: IdParams, refuses: [403] };

export const tokens = {
  ...crud(
    { path: '/api/tokens', noun: 'stored token', tag: 'Stored tokens' },
    { record: StoredToken, create: StoredTokenCreate, update: StoredTokenUpdate, query: UntaggedQuery },
  ),
  uses: endpoint('GET /api/tokens/{id}/uses', {
    ...facts,
    operation: 'list_token_uses',
    summary: 'List when your token was used or refused, newest first',
    query: ListQuery,
    reply: TokenUse,
    kind: 'page',
  }),
  grants: endpoint('GET /api/tokens/{id}/grants', {
    ...facts,
    operation: 'list_token_grants',
    summary: 'List where your token may go, and where it is requested',
    reply: z.array(TokenGrant),
  }),
  grant: endpoint('POST /api/tokens/{id}/grants', {
    ...facts,
    operation: 'grant_token',
    summary: 'Grant a resource your token',
    description:
      'Send the destination as it was listed; 409 if the resource has changed since. Saving your own resource also grants it.',
    body: TokenGrantCreate,
    reply: TokenGrant,
    status: 201,
    refuses: [403, 409],
  }),
  revoke: endpoint('DELETE /api/tokens/{id}/grants/{grant_id}', {
    tag: 'Stored tokens',
    operation: 'revoke_token_grant',
    summary: 'Revoke a grant, also for runs in progress',
    refuses: [403],
  }),
};

import { z } from 'zod';
import { RoleName, ScopeName } from './access.ts';
import { Id, Name, Timestamp, UntaggedQuery } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';

/** The most keys of one principal. */
export const MOST_KEYS = 100;
const MOST_GRACE_SECONDS = 7 * 24 * 3_600;

export const ServiceKeyCreate = z
  .object({
    name: Name,
    role: RoleName.default('editor').meta({ description: "Not above the caller's role" }),
    scopes: z.array(ScopeName).min(1).max(100).nullable().default(null).meta({
      description: 'Null: everything its role allows except managing keys and reading the audit',
    }),
    expires_at: Timestamp.nullable().default(null).meta({ description: 'Null: it does not expire' }),
  })
  .meta({ id: 'ServiceKeyCreate', example: { name: 'nightly build', scopes: ['read', 'run'] } });

export const ServiceKey = z
  .object({
    id: Id,
    owner: z.string().meta({ description: 'The principal that it acts as, as `provider:subject`' }),
    owner_login: z.string(),
    name: z.string(),
    role: RoleName,
    scopes: z.array(ScopeName),
    hint: z.string().meta({ description: 'The first and the last characters of the key', example: 'pk_Zk9…x7Qa' }),
    made_with: Id.nullable().meta({
      description: 'The key that made it. It ends and is deleted together with that key; null: a person made it',
    }),
    expires_at: Timestamp.nullable(),
    last_used_at: Timestamp.nullable().meta({ description: 'To the minute' }),
    rotated_at: Timestamp.nullable(),
    previous_valid_until: Timestamp.nullable().meta({ description: 'Until then the key before the last rotation works, too' }),
    created_at: Timestamp,
  })
  .meta({ id: 'ServiceKey' });
export type ServiceKey = z.output<typeof ServiceKey>;

const NewServiceKey = ServiceKey.extend({
  key: z
    .string()
    .meta({ description: 'Shown only in this reply', example: 'pk_bm90IGEga2V5IGF0IGFsbCwgb25seSBhbiBleGFtcGxlIG9mIG9uZSEhIQ' }),
}).meta({ id: 'NewServiceKey' });

const EndingKey = z
  .object({ id: Id, name: z.string(), expires_at: Timestamp })
  .meta({ id: 'EndingKey', description: 'A key made with a key that was rotated; it ends with the replaced one' });
export type EndingKey = z.output<typeof EndingKey>;

const RotatedServiceKey = NewServiceKey.extend({
  ending_keys: z.array(EndingKey).meta({
    description: 'The keys made with it, directly or not. They end with the replaced key, at the latest at this `expires_at`',
  }),
}).meta({ id: 'RotatedServiceKey' });
export type RotatedServiceKey = z.output<typeof RotatedServiceKey>;

const ServiceKeyRotate = z
  .object({
    grace_seconds: z.int().min(0).max(MOST_GRACE_SECONDS).default(0).meta({
      description: 'How long the present key stays valid; 0: it ends at once. A key before it ends in any case',
    }),
  })
  .meta({ id: 'ServiceKeyRotate', example: { grace_seconds: 3_600 } });

const tag = 'Service keys';

export const keys = {
  list: endpoint('GET /api/keys', {
    operation: 'list_service_keys',
    tag,
    summary: "List the caller's service keys, newest first",
    description: 'Administrators see those of everyone. The keys themselves are never returned.',
    query: UntaggedQuery,
    reply: ServiceKey,
    kind: 'page',
  }),
  create: endpoint('POST /api/keys', {
    operation: 'create_service_key',
    tag,
    summary: 'Create a service key',
    description: `A bearer token for programs that acts as you, limited by its role and scopes. Only this reply contains it. A key cannot make one that may more, or lasts longer, than itself. At most ${MOST_KEYS} for each person.`,
    access: 'keys',
    body: ServiceKeyCreate,
    reply: NewServiceKey,
    status: 201,
    refuses: [403, 409],
  }),
  get: endpoint('GET /api/keys/{id}', {
    operation: 'get_service_key',
    tag,
    summary: 'Get a service key, without the key itself',
    params: IdParams,
    reply: ServiceKey,
    refuses: [403],
  }),
  rotate: endpoint('POST /api/keys/{id}/rotate', {
    operation: 'rotate_service_key',
    tag,
    summary: 'Replace a key by a new one with the same rights',
    description:
      'Only this reply contains the new key. Keys made with the old one end when it does. Scheduled agents that were saved with it need to be ' +
      'saved again. A key rotates only itself and the keys made with it.',
    access: 'keys',
    params: IdParams,
    body: ServiceKeyRotate,
    reply: RotatedServiceKey,
    status: 201,
    refuses: [403, 409],
  }),
  remove: endpoint('DELETE /api/keys/{id}', {
    operation: 'delete_service_key',
    tag,
    summary: 'Delete a key and the keys made with it',
    description: 'They stop working within seconds, on every server. Administrators may delete those of others.',
    access: 'keys',
    params: IdParams,
    refuses: [403, 412],
  }),
};

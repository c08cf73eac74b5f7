import { z } from 'zod';
import { ScopeName } from './access.ts';
import { Id, ListQuery, Timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

export const AuditEntry = z
  .object({
    id: Id,
    at: Timestamp,
    principal: z.string().meta({ description: 'Who asked, as `provider:subject`' }),
    login: z.string(),
    service_key_id: Id.nullable().meta({ description: 'The service key that they used; null: their own access token' }),
    operation: z.string().meta({ description: 'The `operationId` in /openapi.json', example: 'prompt_workflow' }),
    scope: ScopeName,
    path: z.string().meta({ description: 'Of the request, without its query' }),
    resource_type: z.string().meta({ description: 'The collection in the path', example: 'workflows' }),
    resource_id: z.string().nullable().meta({ description: 'The first id in the path' }),
    made_id: z
      .string()
      .nullable()
      .meta({ description: 'The id in the reply: of what was created, or of the run that was started' }),
    status: z.int().meta({ description: 'Of the reply; refused requests are recorded, too' }),
    request_id: z.string(),
    address: z.string().meta({ description: 'Where the request came from (see TRUST_PROXY)' }),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.output<typeof AuditEntry>;

const AuditQuery = ListQuery.extend({
  principal: z.string().optional().meta({ description: 'As `provider:subject`' }),
  service_key_id: Id.optional(),
  operation: z.string().optional(),
  resource_type: z.string().optional(),
  resource_id: z.string().optional().meta({ description: 'In the path or in the reply' }),
  since: Timestamp.optional(),
  until: Timestamp.optional(),
});
export type AuditQuery = z.output<typeof AuditQuery>;

export const audit = {
  list: endpoint('GET /api/audit', {
    operation: 'list_audit',
    tag: 'Audit',
    summary: 'List who changed, ran, decided and exported what, newest first',
    description:
      'For administrators. Every request of a signed-in caller that does more than read, and every export and bundle; not those refused with 429 or 503. Without bodies and secrets. The database refuses to change entries.',
    access: 'audit',
    audited: false,
    query: AuditQuery,
    reply: AuditEntry,
    kind: 'page',
  }),
};

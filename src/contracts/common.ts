import { z } from 'zod';

/** Issued by the service: a UUID in lower case. What cannot be an id is unknown, so paths answer 404 for it. */
export const Id = z
  .uuid()
  .meta({ description: 'Identifier issued by the service (UUIDv7)', example: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001' });

export const Timestamp = z.iso.datetime().meta({ description: 'ISO 8601, UTC', example: '2026-01-31T12:00:00.000Z' });

export const Name = z.string().min(1).max(200);

export const Tags = z.array(z.string()).default([]);

/** Text that can be stored: Postgres has no place for the null character, nor for half a surrogate pair. */
export const isStorable = (text: string) => !text.includes('\u0000') && text.isWellFormed();

export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().meta({ description: 'What went wrong and what to do, as a sentence' }),
    code: z.string().meta({ description: 'Stable word for machines' }),
    request_id: z.string(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457 problem details' });

/** A whole number in a query string. */
export const QueryInt = (min: number, max: number, fallback: number) =>
  z.coerce.number().int().min(min).max(max).default(fallback);

export const ListQuery = z.object({
  limit: QueryInt(1, 1000, 100).meta({ description: 'Items a page' }),
  cursor: z.string().optional().meta({ description: 'Opaque; from the Link header of the page before' }),
});

export const FilterQuery = ListQuery.extend({
  q: z.string().optional().meta({ description: 'Part of the name or description' }),
  tag: z.string().optional().meta({ description: 'One tag' }),
  tags: z.string().optional().meta({ description: 'Comma separated; any of them' }),
});
export type FilterQuery = z.output<typeof FilterQuery>;

/** Stored by every shared resource. */
export const Record = { id: Id, created_by: z.string(), created_at: Timestamp, updated_at: Timestamp };

type Bare<F> = F extends z.ZodDefault<infer I> ? I : F;
type PatchShape<S extends z.ZodRawShape> = { [K in keyof S]: z.ZodOptional<Bare<S[K]> extends z.ZodType ? Bare<S[K]> : never> };

/** Every field optional and no default filled in, so a key that was not sent stays not sent. */
export function patchOf<S extends z.ZodRawShape>(schema: z.ZodObject<S>): z.ZodObject<PatchShape<S>> {
  const bare = (field: z.ZodType) => (field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field);
  const shape = Object.entries(schema.shape).map(([name, field]) => [name, bare(field as z.ZodType).optional()]);
  return z.object(Object.fromEntries(shape) as PatchShape<S>);
}

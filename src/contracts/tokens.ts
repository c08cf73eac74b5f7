import { z } from 'zod';
import { Name, patchOf, Record } from './common.ts';
import { crud } from './endpoint.ts';

export const StoredTokenCreate = z
  .object({
    name: Name.regex(/^[\w.-]+$/, 'Use letters, digits, dot, dash and underscore').meta({ example: 'openai-key' }),
    value: z.string().min(1).max(65_536).meta({ description: 'Held encrypted; never returned', writeOnly: true }),
    description: z.string().default(''),
    shared: z.boolean().default(false).meta({ description: 'Whether runs and tools of others may use it by name' }),
  })
  .meta({ id: 'StoredTokenCreate' });

export const StoredTokenUpdate = patchOf(StoredTokenCreate.omit({ name: true })).meta({
  id: 'StoredTokenUpdate',
  example: { value: 'the-new-value' },
});

export const StoredToken = z
  .object({
    ...Record,
    name: z.string(),
    description: z.string(),
    shared: z.boolean(),
    fingerprint: z.string().meta({ description: 'Tells two values apart without telling either' }),
    used_by: z.array(z.string()).meta({ description: 'What refers to it, such as "provider my-openai"' }),
  })
  .meta({ id: 'StoredToken' });
export type StoredToken = z.output<typeof StoredToken>;

export const tokens = crud(
  { path: '/api/tokens', noun: 'stored token', tag: 'Stored tokens' },
  { record: StoredToken, create: StoredTokenCreate, update: StoredTokenUpdate },
);

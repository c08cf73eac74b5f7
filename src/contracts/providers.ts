import { z } from 'zod';
import { alsoTaken, ExchangeLimitFields, JsonRecord, Name, Needs, patchOf, UntaggedQuery } from './common.ts';
import { crud, endpoint, IdParams } from './endpoint.ts';

const PROVIDER_TYPES = ['openai', 'azure_openai', 'openai_compatible', 'anthropic'] as const;

/** US dollars per million tokens; a model's own entry wins over `*`. */
export const Price = z.object({
  input: z.number().min(0),
  output: z.number().min(0),
  cache_read: z.number().min(0).optional(),
  cache_write: z.number().min(0).optional(),
});
const PriceTable = z
  .record(z.string(), Price)
  .meta({ description: 'Model name (or *) to US dollars per million tokens', example: { '*': { input: 2.5, output: 10 } } });

export const ProviderCreate = z
  .object({
    name: Name.meta({ example: 'my-openai' }),
    description: z.string().default(''),
    provider_type: alsoTaken(z.enum(PROVIDER_TYPES), { read: (type) => (type === 'custom' ? 'openai_compatible' : type) }),
    api_key_token_name: z.string().nullable().default(null).meta({ description: 'Name of the stored token that holds the key' }),
    base_url: z
      .url({ protocol: /^https?$/ })
      .nullable()
      .default(null),
    auth_type: z.enum(['bearer', 'x-api-key']).default('bearer'),
    azure_api_version: z.string().nullable().default(null),
    azure_deployment: z.string().nullable().default(null),
    default_model: z.string().min(1).nullable().default(null),
    requests_per_minute: z.int().min(1).max(1_000_000).nullable().default(null),
    price_table: PriceTable.default({}),
    context_window: z
      .int()
      .min(1_000)
      .nullable()
      .default(null)
      .meta({ description: 'Context window of its models, in tokens; null: from the table of known models' }),
    ...ExchangeLimitFields,
  })
  .meta({ id: 'ProviderCreate' });

export const ProviderUpdate = patchOf(ProviderCreate).meta({ id: 'ProviderUpdate' });

export const Provider = z.object({ ...JsonRecord, ...ProviderCreate.shape, needs: Needs }).meta({ id: 'Provider' });
export type Provider = z.output<typeof Provider>;

/** How to reach a provider's endpoint. Holds the key itself, since nothing is stored yet. */
export const ProviderDraft = z
  .object({
    provider_type: ProviderCreate.shape.provider_type,
    base_url: ProviderCreate.shape.base_url,
    auth_type: ProviderCreate.shape.auth_type,
    azure_api_version: ProviderCreate.shape.azure_api_version,
    azure_deployment: ProviderCreate.shape.azure_deployment,
    api_key: z
      .string()
      .min(1)
      .max(65_536)
      .nullable()
      .default(null)
      .meta({ description: 'Sent to the provider and not stored', writeOnly: true }),
  })
  .meta({ id: 'ProviderDraft', example: { provider_type: 'openai_compatible', base_url: 'http://localhost:11434/v1' } });
export type ProviderDraft = z.output<typeof ProviderDraft>;

const ProviderTest = z
  .object({ success: z.boolean(), models: z.array(z.string()), error: z.string().nullable() })
  .meta({ id: 'ProviderTest' });

const tag = 'Providers';

export const providers = {
  ...crud(
    { path: '/api/providers', noun: 'provider', tag },
    { record: Provider, create: ProviderCreate, update: ProviderUpdate, query: UntaggedQuery },
  ),
  test: endpoint('POST /api/providers/{id}/test', {
    operation: 'test_provider',
    access: 'run',
    tag,
    summary: 'Ask the provider for its models',
    description: 'A 200 means that the test was made; `success` reports its result.',
    params: IdParams,
    reply: ProviderTest,
  }),
  testDraft: endpoint('POST /api/providers/test', {
    operation: 'test_provider_draft',
    access: 'run',
    tag,
    summary: 'Ask a provider that is not stored yet for its models',
    description: 'Nothing is stored. A 200 means that the test was made; `success` reports its result.',
    body: ProviderDraft,
    reply: ProviderTest,
  }),
};

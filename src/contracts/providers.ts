import { z } from 'zod';
import { alsoTaken, ExchangeLimitFields, JsonRecord, Name, Needs, toPatchSchema, UntaggedQuery } from './common.ts';
import { crud, endpoint, IdParams } from './endpoint.ts';
import { FallbackFields, StoredFallbacks } from './fallbacks.ts';
import { ModelName } from './model-name.ts';

const PROVIDER_TYPES = ['openai', 'azure_openai', 'openai_compatible', 'anthropic', 'anthropic_messages'] as const;

export const Dollars = z.number().min(0).max(1_000_000_000);

/**
 * US dollars per million tokens. An entry of the model that answered, or else of the requested one, takes precedence over `*`.
 */
const TokenPrices = z.object({
  input: Dollars,
  output: Dollars,
  cache_read: Dollars.optional(),
  cache_write: Dollars.optional(),
});
export const Price = TokenPrices.extend({
  above: TokenPrices.extend({ tokens: z.int().min(1).max(1_000_000_000) })
    .optional()
    .meta({ description: 'The prices of a whole request whose input has more than this number of tokens' }),
});
const PriceTable = z
  .record(z.string(), Price)
  .meta({ description: 'Model name (or *) to US dollars per million tokens', example: { '*': { input: 2.5, output: 10 } } });

export const ProviderCreate = z
  .object({
    name: Name.meta({ example: 'my-openai' }),
    description: z.string().default(''),
    provider_type: alsoTaken(z.enum(PROVIDER_TYPES), {
      read: (type) => (type === 'custom' ? 'openai_compatible' : type),
    }).meta({
      description:
        '`anthropic_messages`: the Messages API. `anthropic`: without `base_url` agent sessions at the vendor, with it chat completions',
    }),
    api_key_token_name: z.string().nullable().default(null).meta({ description: 'Name of the stored token that holds the key' }),
    base_url: z
      .url({ protocol: /^https?$/ })
      .nullable()
      .default(null),
    auth_type: z.enum(['bearer', 'x-api-key']).default('bearer'),
    azure_api_version: z.string().nullable().default(null),
    azure_deployment: z.string().nullable().default(null),
    default_model: ModelName,
    requests_per_minute: z.int().min(1).max(1_000_000).nullable().default(null),
    price_table: PriceTable.default({}),
    context_window: z.int().min(1_000).max(1_000_000_000).nullable().default(null).meta({
      description:
        'Context window of its models, in tokens. Null: what the endpoint names, otherwise from the table of known models',
    }),
    ...FallbackFields,
    ...ExchangeLimitFields,
  })
  .meta({ id: 'ProviderCreate' });

export const ProviderUpdate = toPatchSchema(ProviderCreate).meta({ id: 'ProviderUpdate' });

export const Provider = z
  .object({ ...JsonRecord, ...ProviderCreate.shape, fallbacks: StoredFallbacks, needs: Needs })
  .meta({ id: 'Provider' });
export type Provider = z.output<typeof Provider>;

/** The settings that reach a provider's endpoint. They hold the key itself, since nothing is stored yet. */
export const ProviderDraft = z
  .object({
    provider_type: ProviderCreate.shape.provider_type,
    base_url: ProviderCreate.shape.base_url,
    auth_type: ProviderCreate.shape.auth_type,
    azure_api_version: ProviderCreate.shape.azure_api_version,
    azure_deployment: ProviderCreate.shape.azure_deployment,
    default_model: ProviderCreate.shape.default_model,
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
  .object({
    success: z.boolean(),
    models: z.array(z.string()),
    error: z.string().nullable().meta({ description: 'What is wrong and what to do, in one sentence' }),
  })
  .meta({ id: 'ProviderTest' });

export const ProviderPreset = z
  .object({
    id: z.string(),
    name: z.string(),
    provider_type: z.enum(PROVIDER_TYPES),
    base_url: z.string().nullable().meta({ description: "Null: the vendor's own address" }),
    key_hint: z.string().nullable().meta({ description: 'Which key it takes, and where to get it. Null: none is needed' }),
    model_example: z.string().meta({
      description:
        'A model to begin with: the cheapest living one of the newest generation that calls tools, from the catalogue. Empty: it has none',
    }),
    differences: z.array(z.string()).meta({ description: 'What the vendor refuses or names differently, a sentence each' }),
    docs_url: z.string(),
  })
  .meta({ id: 'ProviderPreset' });
export type ProviderPreset = z.output<typeof ProviderPreset>;

const TESTED =
  'Lists the models, then asks `default_model` one short question with a tool, which costs a few tokens. A 200 means that the test was ' +
  'made; `success` reports its result, and `error` says what to do.';

const tag = 'Providers';

export const providers = {
  ...crud(
    { path: '/api/providers', noun: 'provider', tag, shared: true },
    { record: Provider, create: ProviderCreate, update: ProviderUpdate, query: UntaggedQuery },
  ),
  presets: endpoint('GET /api/providers/presets', {
    operation: 'list_provider_presets',
    tag,
    summary: 'List the vendors whose endpoints are known',
    description:
      'Values for the fields of a provider, and what differs from OpenAI. List prices and context windows come from a table.',
    reply: z.array(ProviderPreset),
  }),
  test: endpoint('POST /api/providers/{id}/test', {
    operation: 'test_provider',
    access: 'run',
    tag,
    summary: 'Test a provider',
    description: TESTED,
    params: IdParams,
    reply: ProviderTest,
  }),
  testDraft: endpoint('POST /api/providers/test', {
    operation: 'test_provider_draft',
    access: 'run',
    tag,
    summary: 'Test a provider that is not stored yet',
    description: `Nothing is stored. ${TESTED}`,
    body: ProviderDraft,
    reply: ProviderTest,
  }),
};

import { z } from 'zod';
import { Id } from './common.ts';
import { endpoint } from './endpoint.ts';
import { ListPrice, ModelFacts } from './model-catalogue.ts';

/** What is known about a model, from the catalogue; null: unknown. */
const { price: _, context_window: __, efforts, modalities, vendor, source, as_of, ...facts } = ModelFacts;

export const Model = z
  .object({
    id: z.string(),
    name: z.string(),
    provider_id: Id.optional(),
    context_window: z
      .int()
      .optional()
      .meta({
        description:
          "Tokens: the provider's setting, otherwise what the endpoint named when it refused a longer request or lists, otherwise from " +
          'the table of known models. Absent: unknown; runs use DEFAULT_CONTEXT_WINDOW',
      }),
    context_window_from: z.enum(['provider', 'endpoint', 'known']).optional().meta({
      description:
        "What the size is known from: the provider's setting, the endpoint, or the table of known models. Absent with the size",
    }),
    ...facts,
    vendor: vendor.nullable().meta({ description: 'The vendor of the model; null: the catalogue does not have it' }),
    reasoning_efforts: efforts,
    modalities: modalities.unwrap().nullable().meta({ description: 'What it reads and writes' }),
    source: source.nullable(),
    as_of: as_of.nullable(),
    price: ListPrice.optional().meta({ description: 'US dollars per million tokens at this provider. Absent: unknown' }),
    priced: z
      .boolean()
      .meta({ description: 'Whether its price at this provider is known. Runs of other models have no known cost' }),
    price_source: z.enum(['provider', 'catalogue']).nullable().meta({
      description: "`provider`: its `price_table`. `catalogue`: the vendor's list price, at the vendor's own address",
    }),
  })
  .meta({ id: 'Model' });
export type Model = z.output<typeof Model>;

export const models = {
  list: endpoint('GET /api/models', {
    operation: 'list_models',
    tag: 'Models',
    summary: 'Models the caller can use',
    description:
      "The models of the default runtime, requested with the caller's token; with `provider_id`, those of that provider.",
    query: z.object({ provider_id: Id.optional() }),
    reply: z.array(Model),
    refuses: [404, 502],
  }),
};

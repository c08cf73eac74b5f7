import { z } from 'zod';
import { Id } from './common.ts';
import { endpoint } from './endpoint.ts';
import { Price } from './providers.ts';

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
    reasoning_efforts: z.array(z.string()).optional(),
    price: Price.optional(),
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

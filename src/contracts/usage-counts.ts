import { z } from 'zod';

export const UsageCounts = z.object({
  total_in: z.int(),
  total_out: z.int(),
  cost: z
    .number()
    .nullable()
    .meta({ description: 'US dollars of what has a price; null: nothing has one, so the cost is unknown' }),
  priced: z.boolean().default(true).meta({ description: 'False: a part has no price, and is missing in `cost`' }),
  cache_read: z.int(),
  cache_write: z.int(),
  premium_requests: z.int(),
  estimated: z.boolean().default(false).meta({ description: 'A part was not reported by the endpoint and is an estimate' }),
});
type Counts = z.output<typeof UsageCounts>;

const { total_in, total_out, cost, premium_requests } = UsageCounts.shape;

/** Repeats the sums under the names that other clients of this interface read. */
export const UsageTotals = z.preprocess(
  (counts) => ({
    ...(counts as Counts),
    total_input_tokens: (counts as Counts).total_in,
    total_output_tokens: (counts as Counts).total_out,
    total_cost: (counts as Counts).cost,
    total_premium_requests: (counts as Counts).premium_requests,
  }),
  UsageCounts.extend({
    total_input_tokens: total_in.meta({ description: 'The same as total_in' }),
    total_output_tokens: total_out.meta({ description: 'The same as total_out' }),
    total_cost: cost.meta({ description: 'The same as cost' }),
    total_premium_requests: premium_requests.meta({ description: 'The same as premium_requests' }),
  }).meta({ id: 'Usage' }),
);

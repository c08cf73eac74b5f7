import { z } from 'zod';

const Stop = z.array(z.string().min(1).max(256)).max(64);

/** Settings that are sent with each model call of a run. Vendors refuse settings that a model does not support. */
export const CallSettingFields = {
  temperature: z
    .number()
    .min(0)
    .max(2)
    .nullable()
    .default(null)
    .meta({ description: "Null: the model's default. Anthropic takes at most 1; reasoning models refuse it" }),
  top_p: z.number().min(0).max(1).nullable().default(null).meta({ description: "Null: the model's default" }),
  max_output_tokens: z
    .int()
    .min(1)
    .max(1_000_000)
    .nullable()
    .default(null)
    .meta({ description: "Of one answer, reasoning included. Null: the model's default" }),
  stop: Stop.default([]).meta({ description: 'Texts at which the model stops. OpenAI takes at most 4' }),
  parallel_tool_calls: z
    .boolean()
    .nullable()
    .default(null)
    .meta({ description: "Whether the model may ask for several tool calls at once. Null: the model's default" }),
};

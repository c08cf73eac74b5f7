import { z } from 'zod';
import { omitUnset } from '../domain/call-settings.ts';

const Stop = z.array(z.string().min(1).max(256)).max(64);

/**
 * The settings of a workflow that are sent with each model call of a run. Vendors refuse settings that a model does not support. A setting is
 * declared here and used by a runtime; everything between the two carries it. See docs/adding-a-setting.md.
 */
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
  service_tier: z.enum(['auto', 'default', 'flex', 'scale', 'priority']).nullable().default(null).meta({
    description: "How soon the vendor answers, and at which price. Null: the vendor's default. Sent to OpenAI and Azure",
  }),
  verbosity: z
    .enum(['low', 'medium', 'high'])
    .nullable()
    .default(null)
    .meta({ description: "How long the answers are. Null: the model's default. Sent to GPT-5 and later at OpenAI and Azure" }),
};

type Fields = typeof CallSettingFields;
type SettingName = keyof Fields;

/** The settings of each model call of a run; null or empty: the model's default. */
export type CallSettings = { [K in SettingName]: z.output<Fields[K]> };

/** The settings that have a value. The others are absent, so that a definition without any keeps its earlier hash. */
export type SetCallSettings = { [K in SettingName]?: NonNullable<CallSettings[K]> };

const CALL_SETTINGS = Object.keys(CallSettingFields);

/** True if a field of a workflow is sent with each model call. */
export const isCallSetting = (name: string): boolean => CALL_SETTINGS.includes(name);

export const pickSetCallSettings = (values: object): SetCallSettings =>
  omitUnset(Object.fromEntries(Object.entries(values).filter(([name]) => isCallSetting(name))));

const UNSET: CallSettings = z.object(CallSettingFields).parse({});

/** Returns all settings, as people read and write them. */
export const callSettings = (values: object): CallSettings => ({ ...UNSET, ...pickSetCallSettings(values) });

type Bare<F> = F extends z.ZodDefault<infer T> ? T : F;
type Present<F> = F extends z.ZodNullable<infer T> ? T : F;

const toPresent = (field: z.ZodType) => (field instanceof z.ZodNullable ? (field.unwrap() as z.ZodType) : field);
/** Applies a change to each setting's schema, from which the default is removed. */
const mapFields = (change: (field: z.ZodType) => z.ZodType) =>
  Object.fromEntries(Object.entries(CallSettingFields).map(([name, field]) => [name, change(field.unwrap())]));

/** Every setting, as a run shows it. */
export const ShownCallSettings = mapFields((field) => field) as { [K in SettingName]: Bare<Fields[K]> };

/** The settings that have a value, as a run is pinned with them. */
export const PinnedCallSettings = mapFields((field) => toPresent(field).optional()) as {
  [K in SettingName]: z.ZodOptional<Present<Bare<Fields[K]>>>;
};

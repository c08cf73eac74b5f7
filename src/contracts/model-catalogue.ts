import { z } from 'zod';
import { Timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { Dollars, Price } from './providers.ts';

/** The most characters of a catalogue. */
export const CATALOGUE_CHARACTERS = 900_000;

const Day = z.iso.date();
const Word = z.string().regex(/^[\w.-]{1,32}$/, 'must be a word of at most 32 letters, digits, dots, dashes and underscores');
const ModelId = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\s/]+$/, 'must be the name of a model, without spaces and without an address before it');
const Tokens = z.int().min(1).max(1_000_000_000);

export const ListPrice = Price.extend({
  batch: z
    .object({ input: Dollars, output: Dollars })
    .optional()
    .meta({ description: 'The prices of requests that the vendor answers later. Perdura sends none' }),
}).meta({ id: 'ListPrice' });

/** What is known about a model; null: unknown. */
export const ModelFacts = {
  vendor: Word.meta({ description: 'The vendor that offers it under its names, such as `openai`', example: 'openai' }),
  price: ListPrice.nullable().default(null).meta({ description: 'US dollars per million tokens at its vendor' }),
  context_window: Tokens.nullable().default(null).meta({ description: 'The tokens that it can read' }),
  max_output: Tokens.nullable().default(null).meta({ description: 'The most tokens of one answer' }),
  efforts: z
    .array(Word)
    .max(20)
    .nullable()
    .default(null)
    .meta({ description: 'The values of `reasoning_effort` that it takes; empty: none' }),
  modalities: z
    .object({ input: z.array(Word).max(20).default(['text']), output: z.array(Word).max(20).default(['text']) })
    .prefault({})
    .meta({ description: 'What it reads and writes' }),
  tools: z.boolean().nullable().default(null).meta({ description: 'Whether it calls tools' }),
  structured_output: z.boolean().nullable().default(null).meta({ description: 'Whether it keeps to a JSON Schema' }),
  deprecated_on: Day.nullable().default(null).meta({ description: 'The day from which its vendor advises against it' }),
  ends_on: Day.nullable().default(null).meta({ description: 'The day on which its vendor stops answering for it' }),
  successor: ModelId.nullable().default(null).meta({ description: 'The model that its vendor recommends instead' }),
  source: z.string().min(1).max(1_000).meta({ description: 'Where these facts come from' }),
  as_of: Day.meta({ description: 'The day on which the source had them' }),
};

const CatalogueModel = z
  .object({
    id: ModelId,
    aliases: z.array(ModelId).max(100).default([]).meta({ description: 'Other names of the same model, such as dated ones' }),
    ...ModelFacts,
  })
  .meta({ id: 'CatalogueModel' });

/** The file that `perdura models update` takes, and the release's own: src/domain/known-models.json. */
export const ModelCatalogue = z
  .object({ format: z.literal(1), models: z.array(CatalogueModel).min(1).max(5_000) })
  .superRefine(({ models }, context) => {
    const seen = new Set<string>();
    for (const [index, { vendor, id, aliases }] of models.entries())
      for (const name of [id, ...aliases]) {
        const key = `${vendor} ${name.toLowerCase()}`;
        if (seen.has(key))
          context.addIssue({ code: 'custom', path: ['models', index], message: `${name} of ${vendor} is named twice` });
        seen.add(key);
      }
  });

const CatalogueInUse = z
  .object({
    from: z.enum(['release', 'update']).meta({ description: '`release`: the one that this version of Perdura brings' }),
    as_of: Day.meta({ description: 'The day of the newest entry' }),
    digest: z.string().nullable().meta({ description: "SHA-256 of the file; null for the release's" }),
    source: z.string().nullable().meta({ description: "The name or the address of the file; null for the release's" }),
    updated_by: z.string().nullable(),
    updated_at: Timestamp.nullable(),
    models: z.array(CatalogueModel),
  })
  .meta({ id: 'CatalogueInUse' });
export type CatalogueInUse = z.output<typeof CatalogueInUse>;

export const CatalogueUpdate = z
  .object({
    text: z
      .string()
      .min(1)
      .max(CATALOGUE_CHARACTERS)
      .optional()
      .meta({ description: 'The file, as text; instead of `url`. Its digest is that of these characters in UTF-8' }),
    url: z
      .url({ protocol: /^https?$/ })
      .max(2_000)
      .optional()
      .meta({ description: 'Where to fetch the file, by the rules for addresses' }),
    file_name: z.string().max(200).optional().meta({ description: 'The name of the file that `text` is, shown as the source' }),
    digest: z
      .string()
      .regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hexadecimal digits in lower case')
      .optional()
      .meta({ description: 'The digest that the file must have' }),
    force: z.boolean().default(false).meta({ description: 'Use it although it is older than the one in use' }),
  })
  .meta({ id: 'CatalogueUpdate', example: { url: 'https://models.example.com/catalogue.json' } });
export type CatalogueUpdate = z.output<typeof CatalogueUpdate>;

const tag = 'Models';

export const modelCatalogue = {
  get: endpoint('GET /api/models/catalogue', {
    operation: 'get_model_catalogue',
    tag,
    summary: 'The catalogue of models in use',
    description: 'What is known about the models of vendors: prices, windows, abilities and ends. Contacts no vendor.',
    reply: CatalogueInUse,
  }),
  update: endpoint('POST /api/models/catalogue', {
    operation: 'update_model_catalogue',
    tag,
    summary: 'Replace the catalogue of models',
    description:
      'For administrators. The file is checked and replaces the catalogue as a whole, in every process within a minute. One that is older than ' +
      'the one in use is refused with 409 unless `force`.',
    body: CatalogueUpdate,
    reply: CatalogueInUse,
    status: 200,
    refuses: [409, 502],
    shared: true,
  }),
  reset: endpoint('DELETE /api/models/catalogue', {
    operation: 'reset_model_catalogue',
    tag,
    summary: 'Return to the catalogue of the release',
    description:
      'For administrators. Forgets the catalogue that an administrator stored: every process uses that of its version of Perdura within a ' +
      'minute. Returns it, also if none was stored.',
    reply: CatalogueInUse,
    refuses: [412],
    shared: true,
  }),
};

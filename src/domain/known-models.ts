import type { ModelPrice } from './definition.ts';
import shipped from './known-models.json' with { type: 'json' };

/** US dollars per million tokens, as the vendor lists them. */
interface ListPrice extends ModelPrice {
  /** The price of requests that the vendor answers later. */
  batch?: { input: number; output: number } | undefined;
}

/** What is known about a model at its vendor. Null: unknown. Days are `YYYY-MM-DD`. */
export interface KnownModel {
  id: string;
  /** Other names of the same model, such as dated ones. A snapshot with another price or end is a separate model. */
  aliases: readonly string[];
  /** The vendor that offers it under these names, at this price. */
  vendor: string;
  price: ListPrice | null;
  /** The number of tokens that the model can read. */
  context_window: number | null;
  /** The most tokens of one answer. */
  max_output: number | null;
  /** The values of `reasoning_effort` that it takes; empty: none. */
  efforts: readonly string[] | null;
  modalities: { input: readonly string[]; output: readonly string[] };
  tools: boolean | null;
  structured_output: boolean | null;
  /** The day from which the vendor advises against it. */
  deprecated_on: string | null;
  /** The day on which the vendor stops answering for it. */
  ends_on: string | null;
  /** The model that the vendor recommends instead. */
  successor: string | null;
  /** The page or table that these facts come from, and the day on which it had them. */
  source: string;
  as_of: string;
}

export const SHIPPED_MODELS: readonly KnownModel[] = shipped.models;

/** Returns the day of the newest entry; an empty text if there is none. */
export const newestDay = (models: readonly KnownModel[]): string =>
  models.reduce((newest, { as_of }) => (as_of > newest ? as_of : newest), '');

interface Index {
  models: readonly KnownModel[];
  /** The models by name; a name that several vendors use leads to several. */
  by_name: ReadonlyMap<string, readonly KnownModel[]>;
}

const namesOf = ({ id, aliases }: KnownModel) => [id, ...aliases];

function indexModels(models: readonly KnownModel[]): Index {
  const named = models.flatMap((model) => namesOf(model).map((name) => [name.toLowerCase(), model] as const));
  const groups = Map.groupBy(named, ([name]) => name);
  return { models, by_name: new Map([...groups].map(([name, entries]) => [name, entries.map(([, model]) => model)])) };
}

let in_use = indexModels(SHIPPED_MODELS);

/** Replaces the catalogue of this process: `perdura models update` changes it without a release. */
export const replaceKnownModels = (models: readonly KnownModel[]): void => {
  in_use = indexModels(models);
};

/** Lists the models of the catalogue, of one vendor or of all. */
export const listKnownModels = (vendor?: string): readonly KnownModel[] =>
  vendor === undefined ? in_use.models : in_use.models.filter((model) => model.vendor === vendor);

const SNAPSHOT_DATE = /[-@]20\d\d-?\d\d-?\d\d$/;

/**
 * Finds the catalogue's entry of a model, ignoring any address before its name and the date of a snapshot after it:
 * `openai/gpt-4o-2024-08-06` is `gpt-4o`, unless the snapshot has its own entry. A longer name is another model. Returns null
 * if there is none, or none of this vendor. Prices need the exact name: see `getListPrices`.
 */
export function findKnownModel(model: string, vendor?: string | null): KnownModel | null {
  const name = model.toLowerCase().split('/').at(-1)!;
  const entries = in_use.by_name.get(name) ?? in_use.by_name.get(name.replace(SNAPSHOT_DATE, '')) ?? [];
  return (vendor ? entries.find((entry) => entry.vendor === vendor) : entries[0]) ?? null;
}

/** The values of `reasoning_effort` that vendors take, besides those of the catalogue. */
const EFFORTS: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** True if a model is known to take a value of `reasoning_effort`. */
export const isKnownEffort = (effort: string): boolean =>
  EFFORTS.includes(effort) || in_use.models.some(({ efforts }) => efforts?.includes(effort));

/** Returns a vendor's list prices by name. A name that only resembles a listed one has no price. */
export function getListPrices(vendor: string): Record<string, ListPrice> {
  // Gemini's endpoint lists its models with the name of the collection.
  const spellings = (name: string) => (vendor === 'google' ? [name, `models/${name}`] : [name]);
  const priced = listKnownModels(vendor).flatMap((model) => {
    const { price } = model;
    return price
      ? namesOf(model)
          .flatMap(spellings)
          .map((name) => [name, price] as const)
      : [];
  });
  return Object.fromEntries(priced);
}

/** Returns the present day in UTC as `YYYY-MM-DD`. */
export const getToday = (): string => new Date().toISOString().slice(0, 10);

/** The days before its end from which a model is warned about. */
const END_NOTICE_DAYS = 60;
const DAY_MS = 86_400_000;

/** True if a model ends within the notice or has ended; `today` as `YYYY-MM-DD`. */
export const isNearEnd = ({ ends_on }: Pick<KnownModel, 'ends_on'>, today: string): boolean =>
  ends_on !== null && Date.parse(ends_on) - Date.parse(today) <= END_NOTICE_DAYS * DAY_MS;

/** Returns the number of a model's generation: 6.1 of `gpt-6.1-terra`, 5.5 of `claude-haiku-5-5`; 0 if its name has none. */
function generationOf({ id }: KnownModel): number {
  const [, major, minor = '0'] = /^[a-z]+(?:-[a-z]+)?-(\d{1,2})(?:[.-](\d{1,2}))?(?![\db])/.exec(id) ?? [];
  return major === undefined ? 0 : Number(`${major}.${minor}`);
}

const SUITABLE_WINDOW = 100_000;

/**
 * Chooses a vendor's model to begin with: of its newest generation, the cheapest that calls tools, keeps to a schema and reads a
 * long prompt, and whose end is not near. Null: the catalogue has none. `today` as `YYYY-MM-DD`.
 */
export function chooseModel(vendor: string, today: string): string | null {
  const suitable = listKnownModels(vendor).filter(
    (model) =>
      model.price !== null &&
      model.tools &&
      model.structured_output &&
      model.context_window !== null &&
      model.context_window >= SUITABLE_WINDOW &&
      model.deprecated_on === null &&
      !isNearEnd(model, today) &&
      !/preview|beta|exp/.test(model.id),
  );
  const newest = Math.max(...suitable.map((model) => Math.floor(generationOf(model))));
  const cost = ({ price }: KnownModel) => price!.input + price!.output;
  const candidates = suitable.filter((model) => Math.floor(generationOf(model)) === newest);
  return candidates.toSorted((a, b) => cost(a) - cost(b) || a.id.length - b.id.length)[0]?.id ?? null;
}

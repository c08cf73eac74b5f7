import { createHash } from 'node:crypto';
import type { ModelCatalogueService } from '../../api/ports.ts';
import {
  CATALOGUE_CHARACTERS,
  type CatalogueInUse,
  type CatalogueUpdate,
  ModelCatalogue,
} from '../../contracts/model-catalogue.ts';
import { AppError, conflict, unprocessable } from '../../domain/errors.ts';
import {
  getToday,
  type KnownModel,
  listKnownModels,
  newestDay,
  replaceKnownModels,
  SHIPPED_MODELS,
} from '../../domain/known-models.ts';
import { textWithReason } from '../../domain/reason.ts';
import type { Store } from '../../store/index.ts';
import type { StoredCatalogue } from '../../store/resources/model-catalogue.ts';

/** How often a process looks for a catalogue that another one stored. */
const LOOK_MS = 60_000;
const FETCH_MS = 30_000;
const MOST_ERRORS = 50;

type Facts = Omit<CatalogueInUse, 'models'>;

const RELEASE: Facts = {
  from: 'release',
  as_of: newestDay(SHIPPED_MODELS),
  digest: null,
  source: null,
  updated_by: null,
  updated_at: null,
};

interface Needs {
  store: Pick<Store, 'modelCatalogue'>;
  log: (message: string) => void;
}

/** Keeps the catalogue of this process equal to the stored one, or to the release's if none is stored or the release's is newer. */
export async function keepModelCatalogue({ store: { modelCatalogue: store }, log }: Needs) {
  let mark: string | null = null;
  let facts = RELEASE;
  const apply = (models: readonly KnownModel[], next: Facts) => {
    replaceKnownModels(models);
    facts = next;
  };
  /** Reads the stored catalogue if it has changed. One that cannot be read leaves the one in use. */
  const readStored = async () => {
    const stored_mark = await store.findMark();
    if (stored_mark === mark) return;
    const stored = await store.find();
    // Only what was read counts as seen: a failed read is tried again.
    mark = stored_mark;
    if (!stored || !counts(stored)) return apply(SHIPPED_MODELS, RELEASE);
    const { data, error } = ModelCatalogue.safeParse({ format: 1, models: stored.models });
    if (data) apply(data.models, toFacts(stored));
    else log(`The stored catalogue of models is not valid and is not used: ${error.issues[0]?.message}`);
  };
  let reading = Promise.resolve();
  /** One after the other, so that what was read first is not applied last. */
  const refresh = () => {
    reading = reading.then(readStored, readStored);
    return reading;
  };
  const look = () => refresh().catch((error: Error) => log(`The catalogue of models was not read: ${error.message}`));
  await look();
  const timer = setInterval(look, LOOK_MS).unref();
  return {
    refresh,
    inUse: (): CatalogueInUse => ({ ...facts, models: [...listKnownModels()] as CatalogueInUse['models'] }),
    stop: () => clearInterval(timer),
  };
}

export type ModelCatalogueKeeper = Awaited<ReturnType<typeof keepModelCatalogue>>;

/** A stored catalogue that is older than that of a newer release counts only if it was forced. */
const counts = ({ as_of, is_forced }: StoredCatalogue) => is_forced || as_of >= RELEASE.as_of;

const toFacts = ({ as_of, digest, source, updated_by, updated_at }: StoredCatalogue): Facts => ({
  from: 'update',
  as_of,
  digest,
  source,
  updated_by,
  updated_at: updated_at.toISOString(),
});

interface ServiceNeeds {
  store: Pick<Store, 'modelCatalogue'>;
  keeper: ModelCatalogueKeeper;
  fetch: typeof globalThis.fetch;
}

export const createModelCatalogueService = ({ store, keeper, fetch }: ServiceNeeds): ModelCatalogueService => ({
  async get() {
    await keeper.refresh();
    return keeper.inUse();
  },
  async update({ text, url, file_name = 'a file', digest: wanted, force }: CatalogueUpdate, updated_by) {
    const source = url === undefined ? file_name : toPublicAddress(url);
    const bytes = url === undefined ? Buffer.from(text!) : await fetchFile(url, fetch);
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    if (wanted !== undefined && wanted !== digest)
      throw unprocessable([{ path: 'digest', message: `The file has the digest ${digest}, not ${wanted}; nothing was changed` }]);
    const { models } = parseCatalogue(bytes);
    refuseFuture(models);
    const as_of = newestDay(models);
    const facts = { digest, as_of, source, updated_by };
    const written = await store.modelCatalogue.replace({ models, ...facts, forced: force, release_as_of: RELEASE.as_of });
    await keeper.refresh();
    const present = keeper.inUse();
    if (!written)
      throw conflict(
        `Its newest entry is of ${as_of}, older than the catalogue in use (${present.as_of}); to use it, force it`,
        'catalogue_older',
      );
    return present;
  },
  async reset() {
    await store.modelCatalogue.reset();
    await keeper.refresh();
    return keeper.inUse();
  },
});

const DAY_MS = 86_400_000;

/**
 * Throws for entries of a day that is still to come: they would count as newer than every later catalogue. It may already be tomorrow where
 * the file was written.
 */
function refuseFuture(models: readonly KnownModel[]): void {
  const latest = new Date(Date.parse(getToday()) + DAY_MS).toISOString().slice(0, 10);
  const errors = models.flatMap(({ as_of }, index) =>
    as_of > latest
      ? { path: `models.${index}.as_of`, message: `${as_of} is in the future; enter the day on which the source had these facts` }
      : [],
  );
  if (errors.length > 0) throw unprocessable(errors.slice(0, MOST_ERRORS));
}

/** An address may contain a secret as a user, a password or a query. */
function toPublicAddress(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

async function fetchFile(url: string, fetch: typeof globalThis.fetch): Promise<Buffer> {
  const refuse = (reason: string) =>
    new AppError('upstream', `The catalogue could not be fetched from ${toPublicAddress(url)}: ${reason}`, {
      code: 'catalogue_unavailable',
    });
  let size = 0;
  const parts: Uint8Array[] = [];
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS) });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    for await (const part of response.body ?? []) {
      size += part.length;
      if (size > CATALOGUE_CHARACTERS) throw new Error(`it has more than ${CATALOGUE_CHARACTERS} bytes`);
      parts.push(part);
    }
  } catch (error) {
    throw refuse(textWithReason(error as Error));
  }
  return Buffer.concat(parts);
}

/** Throws with every place that is not valid. */
function parseCatalogue(bytes: Buffer) {
  const result = ModelCatalogue.safeParse(parseJson(bytes));
  if (result.success) return result.data;
  const errors = result.error.issues.map(({ path, message }) => ({ path: path.join('.') || 'text', message }));
  throw unprocessable(errors.slice(0, MOST_ERRORS));
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw unprocessable([{ path: 'text', message: 'The file is not valid JSON in UTF-8' }]);
  }
}

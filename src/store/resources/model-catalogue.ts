import type pg from 'pg';
import { row, rows } from '../database/database.ts';
import { deleteModelCatalogue, findCatalogueMark, findModelCatalogue, writeModelCatalogue } from './model-catalogue.sql.ts';

/** The catalogue that an administrator put in place of the release's. */
export interface StoredCatalogue {
  /** The entries as they are stored; the reader checks them. */
  models: unknown;
  digest: string;
  /** The day of the newest entry. */
  as_of: string;
  /** True if it was forced although it was older than the one in use: it counts also if a release has a newer one. */
  is_forced: boolean;
  source: string;
  updated_by: string;
  updated_at: Date;
}

type NewCatalogue = Omit<StoredCatalogue, 'is_forced' | 'updated_at'> & { forced: boolean; release_as_of: string };

/** Stores one catalogue for all processes of the installation. */
export const modelCatalogueStore = (pool: pg.Pool) => ({
  find: async (): Promise<StoredCatalogue | null> => (await row<StoredCatalogue>(pool, findModelCatalogue())) ?? null,
  /** Returns a text that changes with the catalogue; null if none is stored. */
  findMark: async (): Promise<string | null> => (await row<{ mark: string }>(pool, findCatalogueMark()))?.mark ?? null,
  /** Returns false, and stores nothing, if the catalogue in use is newer, unless `forced`. `release_as_of`: the newest day of the release's. */
  async replace({ models, ...facts }: NewCatalogue): Promise<boolean> {
    return (await rows(pool, writeModelCatalogue({ ...facts, models: JSON.stringify(models) }))).length > 0;
  },
  /** Removes the stored catalogue, so that the release's counts. */
  async reset(): Promise<void> {
    await rows(pool, deleteModelCatalogue());
  },
});

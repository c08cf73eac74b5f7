import type pg from 'pg';
import { row, rows } from '../database/database.ts';
import { findCatalogueMark, findModelCatalogue, writeModelCatalogue } from './model-catalogue.sql.ts';

/** The catalogue that an administrator put in place of the release's. */
export interface StoredCatalogue {
  /** The entries as they are stored; the reader checks them. */
  models: unknown;
  digest: string;
  /** The day of the newest entry. */
  as_of: string;
  /** True if it counts although it is older than the release's. */
  is_forced: boolean;
  source: string;
  updated_by: string;
  updated_at: Date;
}

/** Stores one catalogue for all processes of the installation. */
export const modelCatalogueStore = (pool: pg.Pool) => ({
  find: async (): Promise<StoredCatalogue | null> => (await row<StoredCatalogue>(pool, findModelCatalogue())) ?? null,
  /** Returns a text that changes with the catalogue; null if none is stored. */
  findMark: async (): Promise<string | null> => (await row<{ mark: string }>(pool, findCatalogueMark()))?.mark ?? null,
  /** Returns false, and stores nothing, if the stored catalogue is newer, unless `is_forced`. */
  async replace({ models, ...facts }: Omit<StoredCatalogue, 'updated_at'>): Promise<boolean> {
    return (await rows(pool, writeModelCatalogue({ ...facts, models: JSON.stringify(models) }))).length > 0;
  },
});

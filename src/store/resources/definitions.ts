import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { Definition } from '../../domain/definition.ts';
import type { IsToolsRole } from '../database/as-tools-role.ts';
import { type Queryable, row, rows } from '../database/database.ts';
import { effortsOfDefinitions, findCallDefinition, findDefinition } from './definitions.sql.ts';

/** A definition never changes, except for the key that its secrets are sealed with, so each worker caches recent ones. */
const KEPT = 500;
const KEPT_EFFORTS = 10_000;

export const hashDefinition = (body: string) => createHash('sha256').update(body).digest('hex');

const REFERRING = ['tasks_definition_hash_fkey', 'workflow_versions_definition_hash_fkey'];

/**
 * Writes a definition with what refers to it. If the definition was removed as unused in the meantime, the second attempt stores it
 * again.
 */
export const withDefinition = <T>(attempt: () => Promise<T>): Promise<T> =>
  attempt().catch((error: unknown) =>
    REFERRING.includes((error as pg.DatabaseError).constraint ?? '') ? attempt() : Promise.reject(error),
  );

export function definitionStore(pool: Queryable, isToolsRole: IsToolsRole) {
  const cache = new LRUCache<string, Definition>({ max: KEPT });
  const efforts = new LRUCache<string, { effort: string | null }>({ max: KEPT_EFFORTS });
  async function find(hash: string): Promise<Definition | null> {
    const hit = cache.get(hash);
    if (hit) return hit;
    const finding = (await isToolsRole()) ? findCallDefinition : findDefinition;
    const definition_row = await row<{ body: Definition | null }>(pool, finding({ hash }));
    if (!definition_row?.body) return null;
    cache.set(hash, definition_row.body);
    return definition_row.body;
  }
  return {
    /** Returns a definition; null if it is not on record, because the database was restored from an older backup. */
    find,
    /** Returns the reasoning effort of each definition, which is all that a list of tasks needs. */
    async efforts(hashes: readonly string[]): Promise<Map<string, string | null>> {
      const unique_hashes = [...new Set(hashes)];
      const unknown = unique_hashes.filter((hash) => !efforts.has(hash));
      const effort_rows =
        unknown.length > 0
          ? await rows<{ hash: string; effort: string | null }>(pool, effortsOfDefinitions({ hashes: unknown }))
          : [];
      for (const { hash, effort } of effort_rows) efforts.set(hash, { effort });
      return new Map(unique_hashes.map((hash) => [hash, efforts.get(hash)?.effort ?? null]));
    },
    async get(hash: string): Promise<Definition> {
      const definition = await find(hash);
      if (!definition) throw new Error(`The definition ${hash} is missing from the database`);
      return definition;
    },
  };
}

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

export const hashOf = (body: string) => createHash('sha256').update(body).digest('hex');

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
  const kept = new LRUCache<string, Definition>({ max: KEPT });
  const efforts = new LRUCache<string, { effort: string | null }>({ max: KEPT_EFFORTS });
  async function find(hash: string): Promise<Definition | null> {
    const known = kept.get(hash);
    if (known) return known;
    const finding = (await isToolsRole()) ? findCallDefinition : findDefinition;
    const found = await row<{ body: Definition | null }>(pool, finding({ hash }));
    if (!found?.body) return null;
    kept.set(hash, found.body);
    return found.body;
  }
  return {
    /** Null: it is not on record, because the record was restored from an older one. */
    find,
    /** The reasoning effort of each definition; a list of tasks needs no more of them. */
    async efforts(hashes: readonly string[]): Promise<Map<string, string | null>> {
      const wanted = [...new Set(hashes)];
      const unknown = wanted.filter((hash) => !efforts.has(hash));
      const found =
        unknown.length > 0
          ? await rows<{ hash: string; effort: string | null }>(pool, effortsOfDefinitions({ hashes: unknown }))
          : [];
      for (const { hash, effort } of found) efforts.set(hash, { effort });
      return new Map(wanted.map((hash) => [hash, efforts.get(hash)?.effort ?? null]));
    },
    async get(hash: string): Promise<Definition> {
      const found = await find(hash);
      if (!found) throw new Error(`The definition ${hash} is missing from the database`);
      return found;
    },
  };
}

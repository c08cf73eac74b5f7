import { statement } from '../database/statement.ts';

export const findModelCatalogue = statement(
  'find_model_catalogue',
  [],
  'SELECT models, digest, as_of, is_forced, source, updated_by, updated_at FROM model_catalogue',
);

/** Every process asks this each minute. */
export const findCatalogueMark = statement(
  'find_catalogue_mark',
  [],
  "SELECT digest || ' ' || updated_at AS mark FROM model_catalogue",
);

/**
 * Writes the catalogue if it is at least as new as the one in use, or `forced`; the one in use is the release's unless the stored one counts.
 * One that is older than either is stored as forced. Of two at the same time the second is compared with the first. Returns a row if it
 * was written.
 */
export const writeModelCatalogue = statement(
  'write_model_catalogue',
  ['models', 'digest', 'as_of', 'forced', 'release_as_of', 'source', 'updated_by'],
  `INSERT INTO model_catalogue AS c (id, models, digest, as_of, is_forced, source, updated_by, updated_at)
    SELECT 1, :models::jsonb, :digest, :as_of::text, :as_of::text < :release_as_of::text, :source, :updated_by, now()
      WHERE :forced::boolean OR :as_of::text >= :release_as_of::text OR EXISTS (SELECT FROM model_catalogue)
    ON CONFLICT (id) DO UPDATE SET models = excluded.models, digest = excluded.digest, as_of = excluded.as_of,
      is_forced = excluded.is_forced OR excluded.as_of < c.as_of, source = excluded.source, updated_by = excluded.updated_by,
      updated_at = excluded.updated_at
      WHERE :forced::boolean
        OR excluded.as_of >= CASE WHEN c.is_forced OR c.as_of >= :release_as_of::text THEN c.as_of ELSE :release_as_of::text END
    RETURNING digest`,
);

export const deleteModelCatalogue = statement('delete_model_catalogue', [], 'DELETE FROM model_catalogue');

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

/** Writes the catalogue unless the present one is newer, or `is_forced`. Returns a row if it was written. */
export const writeModelCatalogue = statement(
  'write_model_catalogue',
  ['models', 'digest', 'as_of', 'is_forced', 'source', 'updated_by'],
  `INSERT INTO model_catalogue AS c (id, models, digest, as_of, is_forced, source, updated_by, updated_at)
    VALUES (1, :models::jsonb, :digest, :as_of, :is_forced::boolean, :source, :updated_by, now())
    ON CONFLICT (id) DO UPDATE SET models = excluded.models, digest = excluded.digest, as_of = excluded.as_of,
      is_forced = excluded.is_forced, source = excluded.source, updated_by = excluded.updated_by, updated_at = excluded.updated_at
      WHERE excluded.is_forced OR excluded.as_of >= c.as_of
    RETURNING digest`,
);

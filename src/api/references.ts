import type { FieldError } from '../domain/errors.ts';
import type { Store } from '../store/index.ts';

type Table = Parameters<Store['missing']>[0];

/** A message for each field that names something that does not exist. */
export async function unknownReferences(
  store: Pick<Store, 'missing'>,
  values: Record<string, unknown>,
  references: Record<string, Table>,
): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  for (const [field, table] of Object.entries(references)) {
    const ids = [values[field] ?? []].flat() as string[];
    const missing = await store.missing(table, ids);
    if (missing.length > 0) errors.push({ path: field, message: `Nothing has the id ${missing.join(', ')}` });
  }
  return errors;
}

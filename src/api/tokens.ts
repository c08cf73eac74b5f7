import { tokens } from '../contracts/tokens.ts';
import { type FieldError, notFound } from '../domain/errors.ts';
import type { Store } from '../store/index.ts';
import type { Resource } from '../store/resource.ts';
import { mountCrud, type SharedWrite } from './crud.ts';
import type { Api } from './mount.ts';

export function tokenRoutes(api: Api, { store: { tokens: store } }: { store: Store }, shared_write: SharedWrite): void {
  const named = async (id: string) => {
    const token = await store.find(id);
    if (!token) throw notFound('stored token', id);
    return token;
  };
  // The value goes one way: what the resource reads back never holds it.
  const resource = {
    list: store.list,
    find: store.find,
    create: (values: object) => {
      const { created_by, ...rest } = values as { created_by: string; name: string };
      return store.create(rest, created_by);
    },
    update: async (id: string, values: object) => store.update(id, (await named(id)).name, values),
    remove: store.remove,
  } as unknown as Resource<{ id: string; created_by: string }>;

  mountCrud(api, tokens, {
    store: resource,
    shared_write,
    users: async ({ id }) => (await named(id)).used_by,
  });
}

/** A message for each field that names a stored token that does not exist. */
export async function unknownTokens(store: Pick<Store, 'tokens'>, fields: Record<string, unknown>): Promise<FieldError[]> {
  const named = Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const known = named.length > 0 ? await store.tokens.existing(named.map(([, name]) => name)) : new Set();
  return named
    .filter(([, name]) => !known.has(name))
    .map(([path, name]) => ({ path, message: `There is no stored token named ${name}` }));
}

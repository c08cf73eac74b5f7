import { providers } from '../contracts/providers.ts';
import { notFound } from '../domain/errors.ts';
import type { Store } from '../store/index.ts';
import { mountCrud, type SharedWrite } from './crud.ts';
import type { ModelLists } from './models.ts';
import { type Api, mount } from './mount.ts';
import { unknownTokens } from './tokens.ts';

type Services = { store: Store; models: ModelLists };

export function providerRoutes(api: Api, { store, models }: Services, shared_write: SharedWrite): void {
  mountCrud(api, providers, {
    store: store.providers,
    shared_write,
    check: ({ api_key_token_name }) => unknownTokens(store, { api_key_token_name }),
    users: ({ id }) => store.usersOf('provider', id),
  });
  mount(api, providers.test, async ({ params: { id } }, caller) => {
    const provider = await store.providers.find(id as string);
    if (!provider) throw notFound('provider', id as string);
    try {
      const found = await models.ofProvider(provider, caller);
      return { success: true, models: found.map((model) => model.id), error: null };
    } catch (error) {
      return { success: false, models: [], error: (error as Error).message };
    }
  });
}

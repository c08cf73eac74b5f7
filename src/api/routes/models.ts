import { models } from '../../contracts/models.ts';
import type { Store } from '../../store/index.ts';
import { getExisting } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';
import type { ModelLists } from '../ports.ts';

/** Mounts the model lists, fetched from each provider. A request fails with a readable error if the provider is unreachable. */
export function modelRoutes(api: Api, { store, models: lists }: { store: Store; models: ModelLists }): void {
  const getProvider = getExisting(store.providers, 'provider');
  mount(api, models.list, async ({ query: { provider_id } }, caller) => {
    if (!provider_id) return lists.listDefaultModels(caller);
    return lists.listProviderModels(await getProvider(provider_id), caller);
  });
}

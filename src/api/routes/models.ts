import { models } from '../../contracts/models.ts';
import { notFound } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import { type Api, mount } from '../http/mount.ts';
import type { ModelLists } from '../ports.ts';

/** Mounts the model lists, fetched from each provider. A request fails with a readable error if the provider is unreachable. */
export function modelRoutes(api: Api, { store, models: lists }: { store: Store; models: ModelLists }): void {
  mount(api, models.list, async ({ query: { provider_id } }, caller) => {
    if (!provider_id) return lists.listDefaultModels(caller);
    const provider = await store.providers.find(provider_id);
    if (!provider) throw notFound('provider', provider_id);
    return lists.listProviderModels(provider, caller);
  });
}

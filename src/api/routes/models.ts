import { modelCatalogue } from '../../contracts/model-catalogue.ts';
import { models } from '../../contracts/models.ts';
import { AppError, unprocessable } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import { getExisting } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';
import { toReply } from '../http/validate.ts';
import type { ModelCatalogueService, ModelLists } from '../ports.ts';

interface Services {
  store: Store;
  models: ModelLists;
  model_catalogue: ModelCatalogueService;
}

const ADMINISTRATORS = 'The catalogue of models counts for everybody; ask an administrator to replace it';

/** Mounts the model lists, fetched from each provider. A request fails with a readable error if the provider is unreachable. */
export function modelRoutes(api: Api, { store, models: lists, model_catalogue }: Services): void {
  const getProvider = getExisting(store.providers, 'provider');
  mount(api, models.list, async ({ query: { provider_id } }, caller) => {
    if (!provider_id) return lists.listDefaultModels(caller);
    return lists.listProviderModels(await getProvider(provider_id), caller);
  });
  mount(api, modelCatalogue.get, () => model_catalogue.get());
  mount(api, modelCatalogue.update, async ({ body }, { key, is_admin }) => {
    requireAdministrator(is_admin);
    if ((body.text === undefined) === (body.url === undefined))
      throw unprocessable([{ path: 'text', message: 'Give the catalogue as `text` or as `url`, one of the two' }]);
    return model_catalogue.update(body, key);
  });
  mount(
    api,
    modelCatalogue.reset,
    async (_, { is_admin }) => {
      requireAdministrator(is_admin);
      return model_catalogue.reset();
    },
    { current: async () => toReply(modelCatalogue.get.reply, await model_catalogue.get()) },
  );
}

function requireAdministrator(is_admin: boolean): void {
  if (!is_admin) throw new AppError('forbidden', ADMINISTRATORS);
}

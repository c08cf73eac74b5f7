import { type Provider, providers } from '../../contracts/providers.ts';
import { getDefaultModel } from '../../domain/definition.ts';
import { type FieldError, isSecretNotGranted, notFound } from '../../domain/errors.ts';
import { chooseModel, getToday } from '../../domain/known-models.ts';
import { presetsWithModels } from '../../domain/provider-presets.ts';
import type { ProviderCheck } from '../../runtimes/provider-check.ts';
import type { Store } from '../../store/index.ts';
import { listFallbackErrors, listFallbackWarnings } from '../checks/fallbacks.ts';
import { listModelWarnings } from '../checks/model-warnings.ts';
import { createTokenChecks } from '../checks/needs.ts';
import type { LimitChecks } from '../checks/priced-limits.ts';
import { mountCrud, type SharedWrite } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';
import type { ModelLists } from '../ports.ts';

type Services = { store: Store; models: ModelLists; dollar_limits: LimitChecks };

export function providerRoutes(api: Api, { store, models, dollar_limits }: Services, shared_write: SharedWrite): void {
  mountCrud(api, providers, {
    store: store.providers,
    list: (query) => store.providers.list(query),
    shared_write,
    async check(values, _, { id }) {
      const before = id ? await store.providers.find(id) : null;
      const provider = { ...before, ...values };
      return [...listAddressErrors(provider), ...(await listOwnFallbackErrors(store, provider, before))];
    },
    tokenChecks: createTokenChecks(store, ({ api_key_token_name: token }: Partial<Provider>) => [
      { path: 'api_key_token_name', token },
    ]),
    listWarnings: async (provider, caller) => [
      ...listModelWarnings({ model: provider.default_model, provider }, 'default_model'),
      ...(await dollar_limits.listBrokenLimits({ provider }, caller)),
      ...(await dollar_limits.budgets.listOfChanged({ provider }, caller)),
      ...(await listFallbackWarnings(store, provider, caller)),
    ],
    users: ({ id }, { key }) => store.usersOf('provider', id, key),
  });
  mount(api, providers.presets, async () => presetsWithModels((vendor) => chooseModel(vendor, getToday())));
  mount(api, providers.test, async ({ params: { id } }, caller) => {
    const provider = await store.providers.find(id as string);
    if (!provider) throw notFound('provider', id as string);
    return testOutcome(models.check(provider, caller));
  });
  mount(api, providers.testDraft, ({ body }) => testOutcome(models.checkDraft(body)));
}

async function testOutcome(check: Promise<ProviderCheck>) {
  try {
    const { models, fault } = await check;
    return { success: fault === null, models, error: fault };
  } catch (error) {
    if (isSecretNotGranted(error)) throw error;
    return { success: false, models: [], error: (error as Error).message };
  }
}

async function listOwnFallbackErrors(store: Store, provider: Partial<Provider>, before: Provider | null): Promise<FieldError[]> {
  const { fallbacks = [], default_model = null, azure_deployment = null, base_url = null, provider_type = '' } = provider;
  if (fallbacks.length === 0) return [];
  const named_itself = fallbacks.flatMap(({ provider_id }, index) =>
    before && provider_id === before.id
      ? [{ path: `fallbacks.${index}.provider_id`, message: 'Leave it out to name another model of this provider' }]
      : [],
  );
  const self = { provider_type, base_url, default_model, azure_deployment };
  const place = { provider: self, provider_id: null, model: getDefaultModel(self) };
  return [...named_itself, ...(await listFallbackErrors(store, { fallbacks, ...place }, before?.fallbacks))];
}

/** Returns an error for a compatible provider without `base_url`: it would send prompts and key to another vendor. */
function listAddressErrors({ provider_type, base_url }: Partial<Provider>): FieldError[] {
  if (base_url || (provider_type !== 'openai_compatible' && provider_type !== 'azure_openai')) return [];
  return [{ path: 'base_url', message: `\`base_url\` is required for a provider of type ${provider_type}` }];
}

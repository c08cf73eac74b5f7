import type { ModelLists } from '../../api/ports.ts';
import type { Model } from '../../contracts/models.ts';
import type { Provider, ProviderDraft } from '../../contracts/providers.ts';
import { usesVendorApi } from '../../domain/definition.ts';
import { providerDestination } from '../../domain/destinations.ts';
import { AppError, isSecretNotGranted, secretNotGranted } from '../../domain/errors.ts';
import { ModelFailure } from '../../domain/model-failure.ts';
import type { Caller } from '../../identity/caller.ts';
import { defaultClient, providerClient, type ModelCaller as RuntimeCaller, vendorClient } from '../../runtimes/clients.ts';
import { modelLister } from '../../runtimes/model-lists.ts';
import { pricesOf } from '../../runtimes/prices.ts';
import { checkProvider, type ProviderCheck } from '../../runtimes/provider-check.ts';
import type { SharedServices } from '../core.ts';

export function modelListsOf({
  store,
  setting,
  egress,
  secrets,
}: Pick<SharedServices, 'store' | 'setting' | 'egress' | 'secrets'>): ModelLists {
  const list = modelLister({ redact: () => secrets.redact });
  const openToken =
    ({ key: principal }: Caller): RuntimeCaller['openToken'] =>
    (name, provider) =>
      store.tokens.open({ name, principal, destination: providerDestination(provider) });
  const vendor = { url: setting.config.ANTHROPIC_API_URL, fetch: egress.providers.fetch };
  const clientOf = (provider: Parameters<typeof providerClient>[0], opened: RuntimeCaller) =>
    usesVendorApi(provider) ? vendorClient(provider, opened, vendor) : providerClient(provider, opened, egress.providers.fetch);
  /** Names of models and messages come from outside and may repeat the key. */
  const checked = async (provider: Parameters<typeof clientOf>[0] & { default_model: string | null }, opened: RuntimeCaller) => {
    try {
      return secrets.redact.value<ProviderCheck>(await checkProvider(provider, await clientOf(provider, opened)));
    } catch (error) {
      throw problemOf(secrets.redact.error(error));
    }
  };
  return {
    ofDefaultRuntime({ key, access_token }: Caller): Promise<Model[]> {
      secrets.hear(access_token);
      const client = async () => defaultClient(setting.default_runtime.base_url, access_token, egress.installation);
      return list({ key: `default ${key}`, client });
    },
    ofProvider(provider: Provider, caller: Caller): Promise<Model[]> {
      const opened = { access_token: null, openToken: openToken(caller) };
      const client = () => clientOf(provider, opened);
      const key = `${provider.id} ${provider.updated_at} ${caller.key}`;
      return list({ key, client, provider_id: provider.id, prices: pricesOf(provider) }).catch((error) => {
        throw problemOf(error);
      });
    },
    check: (provider: Provider, caller: Caller) => checked(provider, { access_token: null, openToken: openToken(caller) }),
    async checkDraft({ api_key, ...draft }: ProviderDraft): Promise<ProviderCheck> {
      if (api_key) secrets.hear(api_key);
      const provider = { ...draft, id: '', name: 'to be tested', api_key_token_name: api_key && 'the key given' };
      const opened = { access_token: null, openToken: async () => api_key as string };
      return checked(provider, opened);
    },
  };
}

/** Turns a failure for lack of a usable key into an API error. */
function problemOf(error: unknown): unknown {
  if (isSecretNotGranted(error)) return secretNotGranted((error as Error).message);
  return error instanceof ModelFailure ? new AppError('upstream', error.message, { code: error.code }) : error;
}

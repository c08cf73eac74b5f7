import type { ModelLists } from '../../api/ports.ts';
import type { Model } from '../../contracts/models.ts';
import type { Provider, ProviderDraft } from '../../contracts/providers.ts';
import { usesVendorApi } from '../../domain/definition.ts';
import { providerDestination } from '../../domain/destinations.ts';
import { AppError, isSecretNotGranted, secretNotGranted } from '../../domain/errors.ts';
import { ModelFailure } from '../../domain/model-failure.ts';
import type { Caller } from '../../identity/caller.ts';
import { defaultClient, providerClient, type ModelCaller as RuntimeCaller, vendorClient } from '../../runtimes/clients.ts';
import { modelLister, toModelWindow } from '../../runtimes/model-lists.ts';
import { checkProvider, type ProviderCheck } from '../../runtimes/provider-check.ts';
import type { SharedServices } from '../core.ts';

export function createModelLists({
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
  const openClient = (provider: Parameters<typeof providerClient>[0], runtime_caller: RuntimeCaller) =>
    usesVendorApi(provider)
      ? vendorClient(provider, runtime_caller, vendor)
      : providerClient(provider, runtime_caller, egress.providers.fetch);
  /** Checks the connection. Names of models and messages come from outside and may repeat the key. */
  const checkConnection = async (
    provider: Parameters<typeof openClient>[0] & { default_model: string | null },
    runtime_caller: RuntimeCaller,
  ) => {
    try {
      return secrets.redact.value<ProviderCheck>(await checkProvider(provider, await openClient(provider, runtime_caller)));
    } catch (error) {
      throw toApiError(secrets.redact.error(error));
    }
  };
  return {
    listDefaultModels({ key, access_token }: Caller): Promise<Model[]> {
      secrets.recordSecret(access_token);
      const client = async () => defaultClient(setting.default_runtime.base_url, access_token, egress.installation);
      return list({ key: `default ${key}`, client, provider: null });
    },
    async listProviderModels(provider: Provider, caller: Caller): Promise<Model[]> {
      const runtime_caller = { access_token: null, openToken: openToken(caller) };
      const client = () => openClient(provider, runtime_caller);
      const key = `${provider.id} ${provider.updated_at} ${caller.key}`;
      const keepWindows = (windows: Parameters<typeof store.windows.keepListed>[1]) =>
        store.windows.keepListed(provider, windows);
      const models = await list({ key, client, provider, keepWindows }).catch((error) => {
        throw toApiError(error);
      });
      // What a refusal named counts more than what is listed, and the provider's own setting most: runs use these sizes.
      const named = await store.windows.list(provider);
      return models.map((model) => ({
        ...model,
        ...toModelWindow({ provider: provider.context_window, endpoint: named.get(model.id) }),
      }));
    },
    check: (provider: Provider, caller: Caller) =>
      checkConnection(provider, { access_token: null, openToken: openToken(caller) }),
    async checkDraft({ api_key, ...draft }: ProviderDraft): Promise<ProviderCheck> {
      if (api_key) secrets.recordSecret(api_key);
      const provider = { ...draft, id: '', name: 'to be tested', api_key_token_name: api_key && 'the key given' };
      const runtime_caller = { access_token: null, openToken: async () => api_key as string };
      return checkConnection(provider, runtime_caller);
    },
  };
}

/** Turns a failure for lack of a usable key into an API error. */
function toApiError(error: unknown): unknown {
  if (isSecretNotGranted(error)) return secretNotGranted((error as Error).message);
  return error instanceof ModelFailure ? new AppError('upstream', error.message, { code: error.code }) : error;
}

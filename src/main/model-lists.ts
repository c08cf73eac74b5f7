import type { Caller } from '../api/auth.ts';
import type { ModelLists } from '../api/models.ts';
import { isVendor } from '../domain/definition.ts';
import { AppError } from '../domain/errors.ts';
import { defaultClient, providerClient, vendorClient } from '../runtimes/clients.ts';
import { modelLister } from '../runtimes/model-lists.ts';
import type { Core } from './core.ts';

/** Lists of models in the name of a caller. */
export function modelListsOf({ store, setting, egress }: Pick<Core, 'store' | 'setting' | 'egress'>): ModelLists {
  const list = modelLister();
  const openToken = (caller: Caller) => async (name: string) => {
    const opened = await store.tokens.open({ name, principal: caller.key, purpose: 'list of models' });
    if ('refusal' in opened) throw new AppError('upstream', opened.refusal, { code: 'no_provider_key' });
    return opened.value;
  };
  return {
    ofDefaultRuntime({ key, access_token }) {
      const client = async () => defaultClient(setting.default_runtime.base_url, access_token);
      return list({ key: `default ${key}`, client });
    },
    ofProvider(provider, caller) {
      const opened = { access_token: null, openToken: openToken(caller) };
      const vendor = { url: setting.config.ANTHROPIC_API_URL, fetch: egress.fetch };
      const client = () =>
        isVendor(provider) ? vendorClient(provider, opened, vendor) : providerClient(provider, opened, egress.fetch);
      const key = `${provider.id} ${provider.updated_at} ${caller.key}`;
      return list({ key, client, provider_id: provider.id, prices: provider.price_table });
    },
  };
}

import type { Definition, PriceTable } from '../domain/definition.ts';
import { chatCompletions } from './chat-completions.ts';
import { type Caller, defaultClient, type Fetch, providerClient, refusal } from './clients.ts';
import type { ModelRuntime } from './runtime.ts';

export type { Caller } from './clients.ts';
export { providerClient } from './clients.ts';

export interface DefaultRuntime {
  base_url: string;
  model: string | null;
}

export interface RuntimeOptions {
  default_runtime: DefaultRuntime;
  /** Every request to a provider goes through it, so it is where egress is guarded. */
  fetch?: Fetch;
}

export interface SelectedRuntime {
  runtime: ModelRuntime;
  prices: PriceTable;
  /** The default runtime knows no custom tools. */
  custom_tools: boolean;
}

/** The one place that knows which provider means which runtime, and which tools it is given. */
export async function selectRuntime(
  { provider }: Pick<Definition, 'provider'>,
  caller: Caller,
  { default_runtime, fetch }: RuntimeOptions,
): Promise<SelectedRuntime> {
  if (!provider) {
    if (!caller.access_token)
      throw refusal("The default runtime is called with the caller's access token, and this run has none", 'no_access_token');
    // The installation's own endpoint is the operator's choice, so the egress guard is not asked.
    const client = defaultClient(default_runtime.base_url, caller.access_token);
    return { runtime: chatCompletions({ client, default_model: default_runtime.model }), prices: {}, custom_tools: false };
  }
  const client = await providerClient(provider, caller, fetch);
  // A deployment is a model by itself: the request must name one, and the endpoint does not read it.
  const default_model = provider.default_model ?? (provider.provider_type === 'azure_openai' ? provider.azure_deployment : null);
  return { runtime: chatCompletions({ client, default_model }), prices: provider.price_table, custom_tools: true };
}

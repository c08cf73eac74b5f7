import type Anthropic from '@anthropic-ai/sdk';
import { type Definition, isVendor, type ModelPrices, type PinnedMcpServer, type PinnedProvider } from '../domain/definition.ts';
import { type ExchangeDeadlines, exchangeBounds, narrowed } from './bounded.ts';
import { chatCompletions } from './chat-completions.ts';
import { defaultClient, type ModelCaller, providerClient, refusal, vendorClient } from './clients.ts';
import { type Hosted, VENDOR_BUILTINS } from './managed/agent.ts';
import { managedSession } from './managed/session.ts';
import { messagesRuntime } from './messages.ts';
import { pricesOf } from './prices.ts';
import type { Fetch } from './reusing-fetch.ts';
import type { ModelRuntime } from './runtime.ts';

export type { ModelCaller } from './clients.ts';

interface DefaultRuntime {
  base_url: string;
  model: string | null;
}

interface RuntimeOptions {
  default_runtime: DefaultRuntime;
  /** Every request to a provider goes through it, so it is where egress is guarded and what comes back is counted. */
  fetch: Fetch;
  /** To the default runtime, which is the operator's own choice: counted only. */
  installationFetch: Fetch;
  /** The installation's; the definition may set others. */
  deadlines: ExchangeDeadlines;
  /** Where the vendor's agent sessions are; default the vendor's own address. */
  vendor_url?: string | undefined;
}

export interface SelectedRuntime {
  runtime: ModelRuntime;
  prices: ModelPrices;
  /** The default runtime knows no custom tools. */
  custom_tools: boolean;
  /** Tools that run at the vendor, and so are not offered from here. */
  elsewhere?: { builtins: string[]; mcp_server_ids: string[] };
  /** The runtime keeps the conversation on its own side, so there is nothing to compact here. */
  keeps_context?: boolean;
}

/** What decides about the runtime. Without `tools` it is for a chat, which the vendor's sessions are not made for. */
type Selecting = Pick<Definition, 'provider'> & Partial<Pick<Definition, 'tools' | 'mcp_servers' | 'exchange_limits'>>;

/** The one place that knows which provider means which runtime, and which tools it is given. */
export async function selectRuntime(
  definition: Selecting,
  caller: ModelCaller,
  options: RuntimeOptions,
): Promise<SelectedRuntime> {
  const deadlines = narrowed(options.deadlines, definition.exchange_limits);
  const own_watch = definition.provider && isVendor(definition.provider) && definition.tools;
  const { heard, bounded } = exchangeBounds(own_watch ? { ...deadlines, silence_ms: null } : deadlines);
  const [fetch, installationFetch] = [heard(options.fetch), heard(options.installationFetch)];
  const selected = await unboundedRuntime(definition, caller, { ...options, fetch, installationFetch });
  return { ...selected, runtime: bounded(selected.runtime) };
}

async function unboundedRuntime(
  definition: Selecting,
  caller: ModelCaller,
  { default_runtime, fetch, installationFetch, vendor_url }: RuntimeOptions,
): Promise<SelectedRuntime> {
  const { provider } = definition;
  if (!provider) {
    if (!caller.access_token)
      throw refusal("The default runtime is called with the caller's access token, and this run has none", 'no_access_token');
    const client = defaultClient(default_runtime.base_url, caller.access_token, installationFetch);
    return { runtime: chatCompletions({ client, default_model: default_runtime.model }), prices: {}, custom_tools: false };
  }
  if (isVendor(provider)) {
    const client = await vendorClient(provider, caller, { url: vendor_url, fetch });
    if (definition.tools) return vendorRuntime(provider, definition, client);
    return {
      runtime: messagesRuntime({ client, default_model: provider.default_model }),
      prices: pricesOf(provider),
      custom_tools: false,
    };
  }
  const client = await providerClient(provider, caller, fetch);
  // A deployment is a model by itself: the request must name one, and the endpoint does not read it.
  const default_model = provider.default_model ?? (provider.provider_type === 'azure_openai' ? provider.azure_deployment : null);
  return { runtime: chatCompletions({ client, default_model }), prices: pricesOf(provider), custom_tools: true };
}

function vendorRuntime(
  provider: PinnedProvider,
  { tools = [], mcp_servers = [] }: Selecting,
  client: Anthropic,
): SelectedRuntime {
  const builtins = tools.flatMap((tool) => (tool.kind === 'builtin' && isVendors(tool.name) ? tool.name : []));
  const handed = mcp_servers.flatMap((server) => {
    const url = plainUrlOf(server);
    return url ? [{ id: server.id, name: server.name, url, allowed_tools: server.allowed_tools }] : [];
  });
  const hosted: Hosted = { builtins, mcp_servers: handed.map(({ id: _, ...server }) => server) };
  return {
    runtime: managedSession({ client, default_model: provider.default_model, hosted }),
    prices: pricesOf(provider),
    custom_tools: true,
    keeps_context: true,
    elsewhere: { builtins, mcp_server_ids: handed.map(({ id }) => id) },
  };
}

const isVendors = (name: string) => (VENDOR_BUILTINS as readonly string[]).includes(name);

/** The address of a server that the vendor can reach by itself; one that takes secrets is reached from here. */
function plainUrlOf({ transport_type, connection_config }: PinnedMcpServer): string | null {
  const { url, headers = {} } = connection_config as { url?: unknown; headers?: object };
  const plain = transport_type === 'http' && typeof url === 'string' && !/\{\{|[?@]/.test(url) && url.startsWith('https:');
  return plain && Object.keys(headers).length === 0 ? (url as string) : null;
}

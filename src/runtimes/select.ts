import type Anthropic from '@anthropic-ai/sdk';
import {
  type Definition,
  getDefaultModel,
  isVendor,
  type ModelPrices,
  type PinnedMcpServer,
  type PinnedProvider,
  usesVendorApi,
} from '../domain/definition.ts';
import { getDialect } from '../domain/dialect.ts';
import { asksFirst, namesOfTool, PREFIXES, type RunGuards, toolIdentity } from '../domain/tool-guards.ts';
import { getToolRules } from '../domain/tool-rules.ts';
import { findBuiltin } from '../tools/builtin/index.ts';
import { type ExchangeDeadlines, exchangeBounds, overrideDeadlines } from './bounded.ts';
import { chatCompletions } from './chat-completions.ts';
import { defaultClient, type ModelCaller, providerClient, refusal, vendorClient } from './clients.ts';
import { ADVICE } from './failures.ts';
import type { Hosted } from './managed/agent.ts';
import { createManagedRuntime } from './managed/session.ts';
import { messagesRuntime } from './messages.ts';
import { getPrices } from './prices.ts';
import type { Fetch } from './reusing-fetch.ts';
import type { ModelRuntime } from './runtime.ts';
import { adaptTools } from './sent-tools.ts';

export type { ModelCaller } from './clients.ts';

interface DefaultRuntime {
  base_url: string;
  model: string | null;
}

export interface RuntimeOptions {
  default_runtime: DefaultRuntime;
  /** Sends every request to a provider; it enforces the egress rules and counts the bytes of replies. */
  fetch: Fetch;
  /**
   * Sends requests of the default runtime: the operator chose its endpoint, so bytes are counted but the egress rules do not
   * apply.
   */
  installationFetch: Fetch;
  /** The installation's deadlines; a definition may set others. */
  deadlines: ExchangeDeadlines;
  /** Address of the vendor's agent sessions; by default the vendor's own. */
  vendor_url?: string | undefined;
}

export interface SelectedRuntime {
  runtime: ModelRuntime;
  prices: ModelPrices;
  /** The default runtime does not support custom tools. */
  custom_tools: boolean;
  /** Tools that run at the vendor, so Perdura does not offer them. */
  vendor_tools?: { builtins: string[]; mcp_server_ids: string[] };
  /** The vendor keeps the conversation, so there is nothing to compact here. */
  keeps_context?: boolean;
}

/** The input that selects the runtime. Without `tools` it is for a chat, for which the vendor's sessions are unsuitable. */
type Selecting = Pick<Definition, 'provider'> &
  Partial<Pick<Definition, 'tools' | 'mcp_servers' | 'fallbacks' | keyof RunGuards>> & {
    exchange_limits?: Definition['exchange_limits'] | undefined;
  };

/** Selects the runtime of a provider and the tools it gets. This is the only place that maps them. */
export async function selectRuntime(
  definition: Selecting,
  caller: ModelCaller,
  options: RuntimeOptions,
): Promise<SelectedRuntime> {
  const deadlines = overrideDeadlines(options.deadlines, definition.exchange_limits);
  const own_watch = definition.provider && isVendor(definition.provider) && definition.tools;
  const { watchFetch, limitRuntime } = exchangeBounds(own_watch ? { ...deadlines, silence_ms: null } : deadlines);
  const [fetch, installationFetch] = [watchFetch(options.fetch), watchFetch(options.installationFetch)];
  const selection = await selectUnboundedRuntime(definition, caller, { ...options, fetch, installationFetch });
  const runtime = limitRuntime(selection.runtime);
  const { provider } = definition;
  const default_model = provider ? getDefaultModel(provider) : options.default_runtime.model;
  const findRules = (model: string | null) => getToolRules(provider, model ?? default_model ?? '');
  return { ...selection, runtime: adaptTools(runtime, findRules) };
}

const USES_TOKEN = "The default runtime is called with the caller's access token";
const REMEDY = 'start it with a valid access token, or give the agent a provider';

/** A run that waited for its turn, or for a person, may outlive the token that it was started with. */
const DEFAULT_ADVICE = {
  ...ADVICE,
  model_unauthorized: `${USES_TOKEN}, which may have expired since the run was created; ${REMEDY}`,
};

async function selectUnboundedRuntime(
  definition: Selecting,
  caller: ModelCaller,
  { default_runtime, fetch, installationFetch, vendor_url }: RuntimeOptions,
): Promise<SelectedRuntime> {
  const { provider } = definition;
  if (!provider) {
    if (!caller.access_token) throw refusal(`${USES_TOKEN}, and this run has none; ${REMEDY}`, 'no_access_token');
    const client = defaultClient(default_runtime.base_url, caller.access_token, installationFetch);
    const dialect = (model: string) => getDialect(null, model);
    return {
      runtime: chatCompletions({ client, default_model: default_runtime.model, dialect, advice: DEFAULT_ADVICE }),
      prices: {},
      custom_tools: false,
    };
  }
  if (usesVendorApi(provider)) {
    const client = await vendorClient(provider, caller, { url: vendor_url, fetch });
    if (definition.tools && isVendor(provider)) return vendorRuntime(provider, definition, client);
    return {
      runtime: messagesRuntime({ client, default_model: provider.default_model }),
      prices: getPrices(provider),
      custom_tools: !isVendor(provider),
    };
  }
  const client = await providerClient(provider, caller, fetch);
  const default_model = getDefaultModel(provider);
  const dialect = (model: string) => getDialect(provider, model);
  return { runtime: chatCompletions({ client, default_model, dialect }), prices: getPrices(provider), custom_tools: true };
}

function vendorRuntime(
  provider: PinnedProvider,
  { tools = [], mcp_servers = [], approval_tools = [], fallbacks, ...guards }: Selecting,
  client: Anthropic,
): SelectedRuntime {
  const vendor_builtins = tools.flatMap((tool) =>
    tool.kind === 'builtin' && findBuiltin(tool.name)?.at_vendor ? tool.name : [],
  );
  // Another model could not continue with files and connections that are at this vendor.
  const { builtins, takes_servers } = fallbacks
    ? { builtins: [], takes_servers: false }
    : pickUnguarded(vendor_builtins, { approval_tools, ...guards });
  const vendor_servers = (takes_servers ? mcp_servers : []).flatMap((server) => {
    const url = findPlainUrl(server);
    return url ? [{ id: server.id, name: server.name, url, allowed_tools: server.allowed_tools }] : [];
  });
  const hosted: Hosted = { builtins, mcp_servers: vendor_servers.map(({ id: _, ...server }) => server) };
  return {
    runtime: createManagedRuntime({ client, default_model: provider.default_model, hosted }),
    prices: getPrices(provider),
    custom_tools: true,
    keeps_context: true,
    vendor_tools: { builtins, mcp_server_ids: vendor_servers.map(({ id }) => id) },
  };
}

/** Tools that work on the same files, so they run in the same place. */
const isFileTool = (name: string) => findBuiltin(name)?.works_on === 'workspace';

/**
 * Returns the tools that may run at the vendor. Nobody approves calls there, so a tool that may be guarded runs here: the names
 * and effects of the tools that a server will list there are unknown.
 */
function pickUnguarded(vendor_builtins: string[], { approval_tools, guarded_tools = [], approve_effects = [] }: RunGuards) {
  const by_effect = approve_effects.length > 0;
  const guards = by_effect || approval_tools.length > 0 || guarded_tools.length > 0;
  const isGuarded = (name: string) => {
    const tool = toolIdentity('builtin', name);
    const origin = { tool, names: namesOfTool({ own: name, prefix: PREFIXES.builtin }) };
    return by_effect || asksFirst({ approval_tools, guarded_tools }, { name, effect: 'read', origin });
  };
  const files = vendor_builtins.some((name) => isFileTool(name) && isGuarded(name));
  return {
    builtins: vendor_builtins.filter((name) => !isGuarded(name) && !(files && isFileTool(name))),
    takes_servers: !guards,
  };
}

/**
 * Returns the address of a server that the vendor can call directly; null otherwise. Servers with secrets or people's sign-ins
 * are called from here.
 */
function findPlainUrl({ transport_type, connection_config, disabled }: PinnedMcpServer): string | null {
  const { url, headers = {}, oauth } = connection_config as { url?: unknown; headers?: object; oauth?: object };
  if (disabled || oauth) return null;
  const is_plain = transport_type === 'http' && typeof url === 'string' && !/\{\{|[?@]/.test(url) && url.startsWith('https:');
  return is_plain && Object.keys(headers).length === 0 ? (url as string) : null;
}

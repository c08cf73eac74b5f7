import type { BudgetLimits } from './budget.ts';
import type { ToolEffect } from './effects.ts';
import type { FallbackReason } from './fallback-reasons.ts';
import { MEMORY_TOOLS } from './memory.ts';
import type { RunGuards, ToolOrigin } from './tool-guards.ts';

/** The complete configuration of a run, pinned when its task is created. Holds names of stored tokens, never their values. */
export interface Definition extends RunGuards {
  agent: { id: string; name: string; system_prompt: string };
  workflow: { id: string; title: string | null };
  /** The instructions for the model of the request that began the run; absent: none. */
  instructions?: string;
  /** The model's name; null: the runtime's own default. */
  model: string | null;
  provider: PinnedProvider | null;
  settings: RunSettings;
  skills: PinnedSkill[];
  /** The guardrails in the order in which they are applied; absent: none. */
  guardrails?: PinnedGuardrail[];
  /** The ids of the sources that may be searched; absent: none. */
  knowledge_source_ids?: string[];
  /** The resources that have a tag of this run but do not join it, because other people made them; absent: none. */
  not_joined?: string[];
  tools: PinnedTool[];
  /** The tools of the agent that the run goes without; absent: none. */
  tools_left_out?: { name: string; reason: string }[];
  /** The MCP servers; absent if the agent names none. */
  mcp_servers?: PinnedMcpServer[];
  /** The addresses that receive the webhook at the end: of a completed run, and of a failed or halted one. */
  webhooks: { completed: string | null; error: string | null };
  repository: PinnedRepository | null;
  budget: BudgetLimits | null;
  /** The JSON Schema of the final answer; absent: any answer. */
  output_schema?: Record<string, unknown>;
  /** The tools of the client, one of which the model must call at the first exchange; absent: the model decides. */
  forced_tools?: string[];
  /** The limits of one exchange with the model; absent: the installation's. */
  exchange_limits?: ExchangeLimits;
  /** Who is asked instead if the model fails, in order; absent: nobody. */
  fallbacks?: PinnedFallback[];
  /** The minutes that the run stays with a fallback before it asks its own model again; absent: it stays. */
  fallback_minutes?: number;
}

/** A model that is asked if another one of the run has failed for one of the reasons. */
export interface PinnedFallback {
  on: FallbackReason[];
  /** The model's name; null: the default of the provider. */
  model: string | null;
  /** Absent: the provider of the definition. */
  provider?: PinnedProvider;
  /** The limits of one exchange, with another provider. */
  exchange_limits?: ExchangeLimits;
  /** The id of a provider that did not exist when the task was created. */
  missing?: string;
}

/** The limits of one exchange with the model; null: the installation's. */
export interface ExchangeLimits {
  model_total_seconds: number | null;
  model_silence_seconds: number | null;
}

/** Merges two settings: the narrower one wins, undefined if neither has a value. */
export function mergeExchangeLimits(
  workflow: ExchangeLimits | null,
  provider: ExchangeLimits | null,
): ExchangeLimits | undefined {
  const model_total_seconds = workflow?.model_total_seconds ?? provider?.model_total_seconds ?? null;
  const model_silence_seconds = workflow?.model_silence_seconds ?? provider?.model_silence_seconds ?? null;
  return model_total_seconds === null && model_silence_seconds === null
    ? undefined
    : { model_total_seconds, model_silence_seconds };
}

export interface PinnedProvider {
  id: string;
  name: string;
  provider_type: string;
  api_key_token_name: string | null;
  base_url: string | null;
  auth_type: string;
  azure_api_version: string | null;
  azure_deployment: string | null;
  default_model: string | null;
  requests_per_minute: number | null;
  price_table: ModelPrices;
  context_window: number | null;
}

type DefaultModelOf = Pick<PinnedProvider, 'provider_type' | 'default_model' | 'azure_deployment'>;

/** Returns the model that a provider is asked for if nothing else names one. An Azure deployment fixes the model. */
export const getDefaultModel = ({ provider_type, default_model, azure_deployment }: DefaultModelOf): string | null =>
  default_model ?? (provider_type === 'azure_openai' ? azure_deployment : null);

/** Returns the name under which a run asks for its model; null: the default runtime's or the provider's own default. */
export const getAskedModel = ({ model, provider }: { model: string | null; provider: DefaultModelOf | null }): string | null =>
  model ?? (provider ? getDefaultModel(provider) : null);

/** True if a provider is the vendor itself, with its own SDK and agent sessions that keep their conversation there. */
export const isVendor = ({ provider_type, base_url }: Pick<PinnedProvider, 'provider_type' | 'base_url'>): boolean =>
  provider_type === 'anthropic' && !base_url;

/** True if a provider is called through Anthropic's own API; the others use chat completions. */
export const usesVendorApi = (provider: Pick<PinnedProvider, 'provider_type' | 'base_url'>): boolean =>
  isVendor(provider) || provider.provider_type === 'anthropic_messages';

/** The run that a workspace belongs to. */
export interface WorkspaceOwner {
  task_id: string;
  /** The principal in whose name the repository is read. */
  owner: string;
  workflow: Definition['workflow'];
  repository: PinnedRepository | null;
}

/** The repository that is checked out into a run's workspace before its first step. */
export interface PinnedRepository {
  url: string;
  branch: string | null;
  token_name: string | null;
}

export interface PinnedMcpServer {
  id: string;
  name: string;
  transport_type: string;
  /**
   * The configuration as stored: `{command, args, env}` or `{url, headers}`, with names of stored tokens and sealed values; no
   * secret in clear text.
   */
  connection_config: Record<string, unknown>;
  /** The names of the tools that may be used; empty: all. */
  allowed_tools: string[];
  /** True if its process may reach the network. */
  network: boolean;
  /** True if it may ask people for secrets; absent: it may not. */
  allow_secret_questions?: boolean;
  /** How long a connection may take; absent: 30. */
  connect_seconds?: number;
  /** The version of the protocol in which it is spoken to; absent: the server is asked. */
  protocol?: string;
  /** True if a stdio server has a folder that outlasts its process; absent: it has none. */
  state?: boolean;
  /** The host paths that its process may read, and also write if they end with `:rw`. */
  paths: string[];
  /** True if the run fails when the server is unreachable. */
  required: boolean;
  /** Set if somebody disabled the server: the run does not use it. Absent: nobody did. */
  disabled?: true;
}

/** A tool listed by an MCP server when the run began; the run keeps this version even if the server changes it later. */
export interface AllowedMcpTool {
  server_id: string;
  /** The server's own name of the tool. */
  tool: string;
  /** The spec, with a name that models accept; the toolbox renames one of two tools with the same name. */
  spec: ToolSpec;
  /** Set if the tool is Perdura's, for the resources of the server. */
  resource_tool?: ResourceTool;
  /** Set if the server executes the tool only as a task. */
  needs_task?: true;
}

/** The tools by which a model reads the resources of an MCP server. */
export type ResourceTool = 'read_resource' | 'list_resources';

/** The settings of the loop. A definition also holds the settings of its model calls here; see `splitSettings`. */
export interface RunSettings {
  max_turns: number;
  output_format: string;
  reasoning_effort: string | null;
  infinite_session: boolean;
  bypass_memory: boolean;
  auto_memory: boolean;
  tsv_tool_results: boolean;
  caveman: boolean;
}

export interface PinnedSkill {
  name: string;
  instructions: string;
}

export interface PinnedGuardrail {
  name: string;
  guardrail_type: string;
  config: Record<string, unknown>;
}

/** A tool as described to the model. */
export interface ToolSpec {
  name: string;
  description: string;
  /** The JSON Schema of an object. */
  parameters: Record<string, unknown>;
  effect: ToolEffect;
  /** Set if a call takes milliseconds, starts no process and asks no other server. Absent: it may take long. */
  brief?: true;
}

/** A tool as a run offers it. Tools of the client have no origin. */
export interface OfferedTool extends ToolSpec {
  origin?: ToolOrigin;
}

/** Returns the part that a model is given. */
export const toToolSpec = ({ origin: _, ...spec }: OfferedTool): ToolSpec => spec;

/** A tool definition in the format of the vendor that runs it. */
export interface HostedTool {
  type: string;
  name: string;
  [setting: string]: unknown;
}

export type PinnedTool =
  | (ToolSpec & {
      kind: 'custom';
      id: string;
      source_code: string;
      network: boolean;
      /** The stored token name of each variable; null if nothing is mapped. */
      env: Record<string, string | null>;
      /** The variables that the workflow fills instead of the tool's own mapping. */
      overridden: string[];
    })
  | { kind: 'builtin'; name: string }
  | (ToolSpec & { kind: 'definition' })
  /** A tool that runs at the provider, which is sent its definition unchanged. */
  | { kind: 'hosted'; name: string; tool: HostedTool }
  /** A tool of the client that asked for the run: the client executes the calls and sends their results. */
  | (ToolSpec & { kind: 'client' });

export const listClientTools = ({ tools }: Pick<Definition, 'tools'>): string[] =>
  tools.flatMap((tool) => (tool.kind === 'client' ? [tool.name] : []));

/** Pins built-in tools. A run that bypasses memory has no memory tools. */
export const pinBuiltins = (names: string[], { bypass_memory }: Pick<RunSettings, 'bypass_memory'>): PinnedTool[] =>
  names
    .filter((name) => !(bypass_memory && MEMORY_TOOLS.some((known) => known === name)))
    .map((name) => ({ kind: 'builtin', name }));

interface TokenPrices {
  input: number;
  output: number;
  cache_read?: number | undefined;
  cache_write?: number | undefined;
}

/** The prices in US dollars per million tokens. */
export interface ModelPrice extends TokenPrices {
  /** The prices of the whole request if its input has more than this number of tokens. */
  above?: (TokenPrices & { tokens: number }) | undefined;
}
export type ModelPrices = Record<string, ModelPrice>;

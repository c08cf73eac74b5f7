import type { BudgetLimits } from './budget.ts';
import type { SetCallSettings } from './call-settings.ts';
import type { ToolEffect } from './effects.ts';
import type { RunGuards, ToolOrigin } from './tool-guards.ts';

/** What a run works with, pinned when its task is created. Holds names of stored tokens, never their values. */
export interface Definition extends RunGuards {
  agent: { id: string; name: string; system_prompt: string };
  workflow: { id: string; title: string | null };
  /** Null: the runtime's own default. */
  model: string | null;
  provider: PinnedProvider | null;
  settings: RunSettings;
  skills: PinnedSkill[];
  /** Absent: none. In the order in which they are applied. */
  guardrails?: PinnedGuardrail[];
  /** Ids of the sources that may be searched; absent: none. */
  knowledge_source_ids?: string[];
  /** Resources whose tag would add them to this run, but which other people made; absent: none. */
  not_joined?: string[];
  tools: PinnedTool[];
  /** Tools of the agent that the run goes without; absent: none. */
  tools_left_out?: { name: string; reason: string }[];
  /** Absent if the agent names none. */
  mcp_servers?: PinnedMcpServer[];
  /** Who receives the webhook at the end: of a completed run, and of a failed or halted one. */
  webhooks: { completed: string | null; error: string | null };
  repository: PinnedRepository | null;
  budget: BudgetLimits | null;
  /** JSON Schema of the final answer; absent: any. */
  output_schema?: Record<string, unknown>;
  /** Tools of the client, of which the model must call one at the first exchange; absent: it decides itself. */
  forced_tools?: string[];
  /** Of one exchange with the model; absent: the installation's. */
  exchange_limits?: ExchangeLimits;
}

/** Null: the installation's. */
export interface ExchangeLimits {
  model_total_seconds: number | null;
  model_silence_seconds: number | null;
}

/** The narrower setting wins; undefined where neither says anything. */
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

/** Whether a provider is the vendor itself: its own SDK, and agent sessions that keep their conversation there. */
export const isVendor = ({ provider_type, base_url }: Pick<PinnedProvider, 'provider_type' | 'base_url'>): boolean =>
  provider_type === 'anthropic' && !base_url;

/** Whether a provider is reached by Anthropic's own API; the others speak chat completions. */
export const usesVendorApi = (provider: Pick<PinnedProvider, 'provider_type' | 'base_url'>): boolean =>
  isVendor(provider) || provider.provider_type === 'anthropic_messages';

/** The run that a workspace belongs to. */
export interface WorkspaceOwner {
  task_id: string;
  /** In whose name the repository is read. */
  owner: string;
  workflow: Definition['workflow'];
  repository: PinnedRepository | null;
}

/** What is checked out into a run's workspace before its first step. */
export interface PinnedRepository {
  url: string;
  branch: string | null;
  token_name: string | null;
}

export interface PinnedMcpServer {
  id: string;
  name: string;
  transport_type: string;
  /** As stored: `{command, args, env}` or `{url, headers}`, with names of stored tokens and sealed values; no secret in clear text. */
  connection_config: Record<string, unknown>;
  /** Empty: all. */
  allowed_tools: string[];
  /** Whether its process may reach the network. */
  network: boolean;
  /** Whether it may ask people for secrets. Absent: it may not. */
  allow_secret_questions?: boolean;
  /** Host paths its process may read; with `:rw` at the end, write too. */
  paths: string[];
  /** If it is unreachable, the run fails. */
  required: boolean;
  /** Somebody disabled it: the run does not ask it. Absent: nobody did. */
  disabled?: true;
}

/** A tool listed by an MCP server when the run began; the run keeps this version even if the server changes it later. */
export interface AllowedMcpTool {
  server_id: string;
  /** The server's own name of it. */
  tool: string;
  /** With a name that models accept; the toolbox renames one of two tools with the same name. */
  spec: ToolSpec;
}

export interface RunSettings extends SetCallSettings {
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
  /** JSON Schema of an object. */
  parameters: Record<string, unknown>;
  effect: ToolEffect;
  /** A call takes milliseconds, starts no process and asks no other server. Absent: it may take long. */
  brief?: true;
}

/** A tool as a run offers it. Tools of the client have no origin. */
export interface OfferedTool extends ToolSpec {
  origin?: ToolOrigin;
}

/** The part that a model is given. */
export const toToolSpec = ({ origin: _, ...spec }: OfferedTool): ToolSpec => spec;

/** A tool in the words of the vendor that runs it. */
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
      /** Variable to stored token name; null if nothing is mapped. */
      env: Record<string, string | null>;
      /** Variables that the workflow fills instead of the tool's own mapping. */
      overridden: string[];
    })
  | { kind: 'builtin'; name: string }
  | (ToolSpec & { kind: 'definition' })
  /** Runs at the provider, which is sent it as it is. */
  | { kind: 'hosted'; name: string; tool: HostedTool }
  /** Of the client that asked for the run: it executes the calls and sends their results. */
  | (ToolSpec & { kind: 'client' });

export const listClientTools = ({ tools }: Pick<Definition, 'tools'>): string[] =>
  tools.flatMap((tool) => (tool.kind === 'client' ? [tool.name] : []));

const MEMORY_TOOLS = ['store_memory', 'search_memory'];

/** A run that bypasses memory has no memory tools. */
export const pinBuiltins = (names: string[], { bypass_memory }: Pick<RunSettings, 'bypass_memory'>): PinnedTool[] =>
  names.filter((name) => !(bypass_memory && MEMORY_TOOLS.includes(name))).map((name) => ({ kind: 'builtin', name }));

/** US dollars per million tokens. */
export interface ModelPrice {
  input: number;
  output: number;
  cache_read?: number;
  cache_write?: number;
}
export type ModelPrices = Record<string, ModelPrice>;

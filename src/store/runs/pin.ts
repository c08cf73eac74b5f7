import type pg from 'pg';
import { type CallSettings, pickSetCallSettings, type SetCallSettings } from '../../contracts/call-settings.ts';
import type { StoredFallback } from '../../contracts/fallbacks.ts';
import type { BudgetLimits } from '../../domain/budget.ts';
import type { CapState } from '../../domain/cap-states.ts';
import {
  type Definition,
  type ExchangeLimits,
  type HostedTool,
  mergeExchangeLimits,
  type PinnedFallback,
  type PinnedGuardrail,
  type PinnedMcpServer,
  type PinnedProvider,
  type PinnedSkill,
  type PinnedTool,
  pinBuiltins,
  type RunSettings,
  type ToolSpec,
} from '../../domain/definition.ts';
import type { ToolEffect } from '../../domain/effects.ts';
import { AppError, conflict, notFound, providerMissing } from '../../domain/errors.ts';
import type { ForkParts, PinnedCustomTool } from '../../domain/fork-changes.ts';
import { isHosted, runsHosted, unkeptGuard, whoRuns } from '../../domain/hosted-tools.ts';
import { refuseChoices, type ToolChoices } from '../../domain/tool-choice.ts';
import { type ApprovalGuard, runGuards } from '../../domain/tool-guards.ts';
import { row } from '../database/database.ts';
import { partsOfFork, snapshotWorkflow } from './snapshots.sql.ts';

interface ToolRow {
  id: string;
  name: string;
  description: string;
  parameters_schema: Record<string, unknown>;
  effect: ToolEffect;
  source_code: string;
  network: boolean;
  env_config: Record<string, { token_name: string | null }>;
}

interface DefinedTool {
  type?: string;
  function: { name: string; description?: string; parameters?: Record<string, unknown> };
}

interface AgentRow {
  id: string;
  name: string;
  system_prompt: string;
  model: string | null;
  provider_id: string | null;
  builtin_tools: string[];
  tool_definitions: (DefinedTool | HostedTool)[];
  approval_tools: string[];
  required_mcp_servers: string[];
  approval_guards: ApprovalGuard[];
  approve_effects: string[];
  fallbacks: StoredFallback[];
  fallback_minutes: number | null;
}

type ProviderRow = PinnedProvider & ExchangeLimits;

interface WorkflowRow extends RunSettings, CallSettings {
  id: string;
  title: string | null;
  owner: string;
  owner_login: string;
  model: string | null;
  on_busy: string;
  status: string;
  credential_overrides: Record<string, string>;
  webhook_url: string | null;
  error_webhook_url: string | null;
  repo_url: string | null;
  repo_branch: string | null;
  repo_token_name: string | null;
  budget: BudgetLimits | null;
  model_total_seconds: number | null;
  model_silence_seconds: number | null;
  output_schema: Record<string, unknown> | null;
}

export interface Snapshot {
  workflow: WorkflowRow;
  agent: AgentRow;
  provider: (ProviderRow & Pick<AgentRow, 'fallbacks' | 'fallback_minutes'>) | null;
  /** The providers that the fallbacks name. */
  fallback_providers: ProviderRow[];
  tools: ToolRow[];
  mcp_servers: PinnedMcpServer[];
  skills: PinnedSkill[];
  guardrails: PinnedGuardrail[];
  knowledge_source_ids: string[];
  not_joined: string[];
  tools_left_out: { name: string; reason: string }[];
  /** The budgets above a run that it would be charged to. */
  caps: CapState[];
}

/** Who asks for a run, besides its owner: budgets of them apply to it. */
export interface Asker {
  service_key_id?: string | null | undefined;
  scheduled_agent_id?: string | null | undefined;
}

/** Reads everything that a task of this workflow would use, in one statement. */
export const findSnapshot = (
  pool: pg.Pool,
  workflow_id: string,
  { admins, service_key_id = null, scheduled_agent_id = null }: Asker & { admins: readonly string[] },
) => row<Snapshot>(pool, snapshotWorkflow({ workflow_id, admins, service_key_id, scheduled_agent_id }));

/** The settings that a prompt overrides for its run. */
export interface AskedOfRun extends ToolChoices {
  instructions?: string | undefined;
  reasoning_effort?: string | null | undefined;
  output_schema?: Record<string, unknown> | undefined;
  /** The settings of the model calls, instead of the workflow's own. */
  call_settings?: SetCallSettings | undefined;
  client_tools?: ToolSpec[] | undefined;
  /** True if it has none of the agent's tools. */
  without_tools?: true | undefined;
}

/** Freezes a snapshot. Keys are sorted, so that equal content has an equal hash. */
export function pinDefinition(snapshot: Snapshot, overrides: AskedOfRun = {}): Definition {
  const { workflow, agent, provider, tools, mcp_servers, ...more } = overrides.without_tools ? leaveOutTools(snapshot) : snapshot;
  const { skills, guardrails, knowledge_source_ids, fallback_providers, not_joined, tools_left_out } = more;
  if (agent.provider_id && !provider) throw providerMissing(agent.name);
  refuseMissingServer(agent, mcp_servers);
  refuseHosted(agent, provider);
  const limits = mergeExchangeLimits(workflow, provider);
  const own_tools = pinTools({ workflow, agent, tools });
  const { reasoning_effort = workflow.reasoning_effort, output_schema = workflow.output_schema } = overrides;
  const { client_tools = [], forced_tools, instructions, parallel_tool_calls = workflow.parallel_tool_calls } = overrides;
  refuseTaken(client_tools, own_tools);
  refuseChoices(provider, overrides);
  return {
    agent: { id: agent.id, name: agent.name, system_prompt: agent.system_prompt },
    workflow: { id: workflow.id, title: workflow.title },
    model: workflow.model ?? agent.model ?? provider?.default_model ?? null,
    provider: provider && pinProvider(provider),
    settings: {
      max_turns: workflow.max_turns,
      output_format: workflow.output_format,
      reasoning_effort,
      infinite_session: workflow.infinite_session,
      bypass_memory: workflow.bypass_memory,
      auto_memory: workflow.auto_memory,
      tsv_tool_results: workflow.tsv_tool_results,
      caveman: workflow.caveman,
      ...pickSetCallSettings({ ...workflow, ...overrides.call_settings, parallel_tool_calls }),
    },
    skills,
    guardrails,
    knowledge_source_ids,
    ...(not_joined.length > 0 ? { not_joined } : {}),
    tools: [...own_tools, ...client_tools.map((tool) => ({ ...tool, kind: 'client' as const }))],
    ...(tools_left_out.length > 0 ? { tools_left_out } : {}),
    ...(mcp_servers.length > 0 ? { mcp_servers } : {}),
    ...runGuards(agent, { custom: namesById(tools), mcp: namesById(mcp_servers) }),
    webhooks: { completed: workflow.webhook_url, error: workflow.error_webhook_url },
    repository: workflow.repo_url
      ? { url: workflow.repo_url, branch: workflow.repo_branch, token_name: workflow.repo_token_name }
      : null,
    budget: workflow.budget,
    ...(output_schema ? { output_schema } : {}),
    ...(forced_tools ? { forced_tools } : {}),
    ...(instructions ? { instructions } : {}),
    ...(limits ? { exchange_limits: limits } : {}),
    ...pinFallbacks({ workflow, agent, provider, fallback_providers }),
  };
}

/** Returns a snapshot whose agent has no tools. Its guards stay: a fork may give the run tools again. */
const leaveOutTools = ({ agent, ...snapshot }: Snapshot): Snapshot => ({
  ...snapshot,
  tools: [],
  mcp_servers: [],
  tools_left_out: [],
  agent: { ...agent, builtin_tools: [], tool_definitions: [], required_mcp_servers: [] },
});

/** Pins the agent's own fallbacks, or else those of its provider. One whose provider is missing is reported when a run would use it. */
function pinFallbacks({
  workflow,
  agent,
  provider,
  fallback_providers,
}: Pick<Snapshot, 'workflow' | 'agent' | 'provider' | 'fallback_providers'>): Pick<Definition, 'fallbacks' | 'fallback_minutes'> {
  const { fallbacks, fallback_minutes } = agent.fallbacks.length > 0 || !provider ? agent : provider;
  if (fallbacks.length === 0) return {};
  const pinned_fallbacks = fallbacks.map(({ on, provider_id, model }): PinnedFallback => {
    if (provider_id === null) return { on, model };
    const own = fallback_providers.find(({ id }) => id === provider_id);
    if (!own) return { on, model, missing: provider_id };
    const limits = mergeExchangeLimits(workflow, own);
    return { on, model, provider: pinProvider(own), ...(limits ? { exchange_limits: limits } : {}) };
  });
  return { fallbacks: pinned_fallbacks, ...(fallback_minutes === null ? {} : { fallback_minutes }) };
}

/** Throws if a required server does not exist: an imported agent may require one that is not here. */
function refuseMissingServer({ name, required_mcp_servers }: AgentRow, mcp_servers: readonly PinnedMcpServer[]): void {
  if (required_mcp_servers.every((id) => mcp_servers.some((server) => server.id === id))) return;
  const message = `An MCP server that the agent ${name} requires does not exist; change its required_mcp_servers`;
  throw conflict(message, 'required_mcp_server_missing');
}

/** Throws if the agent's hosted tools cannot run: its provider and guards may have changed since it was saved. */
function refuseHosted(agent: AgentRow, provider: PinnedProvider | null): void {
  const hosted_tools = agent.tool_definitions.filter(isHosted);
  if (hosted_tools[0] && !runsHosted(provider))
    throw conflict(`The agent ${agent.name} cannot run: ${whoRuns(hosted_tools[0], provider)}`, 'hosted_tool_unsupported');
  const unkept = unkeptGuard(hosted_tools, agent);
  if (unkept) throw conflict(`The agent ${agent.name} cannot run: ${unkept.message}`, 'hosted_tool_guarded');
}

const namesById = (records: readonly { id: string; name: string }[]) => new Map(records.map(({ id, name }) => [id, name]));

function refuseTaken(client_tools: readonly ToolSpec[], own_tools: readonly PinnedTool[]): void {
  const duplicate = client_tools.find(({ name }) => own_tools.some((tool) => tool.name === name));
  if (!duplicate) return;
  const message = `The agent has a tool named ${duplicate.name}; give yours another name`;
  throw new AppError('invalid', message, { code: 'tool_name_taken', errors: [{ path: 'tools', message }] });
}

function pinTools({ workflow, agent, tools }: Pick<Snapshot, 'workflow' | 'agent' | 'tools'>): PinnedTool[] {
  const custom = tools.map((tool) => pinCustomTool(tool, workflow));
  const defined_tools = agent.tool_definitions.map((tool): PinnedTool => {
    if (isHosted(tool)) return { kind: 'hosted', name: tool.name, tool };
    const { name, description = '', parameters = { type: 'object' } } = tool.function;
    return { kind: 'definition', name, description, parameters, effect: 'read' };
  });
  return [...custom, ...pinBuiltins(agent.builtin_tools, workflow), ...defined_tools];
}

function pinCustomTool(tool: ToolRow, { credential_overrides }: Pick<WorkflowRow, 'credential_overrides'>): PinnedCustomTool {
  const env = Object.entries(tool.env_config).map(([name, { token_name }]) => [
    name,
    credential_overrides[name] ?? token_name ?? null,
  ]);
  return {
    kind: 'custom',
    id: tool.id,
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters_schema,
    effect: tool.effect,
    source_code: tool.source_code,
    network: tool.network,
    env: Object.fromEntries(env),
    overridden: Object.keys(tool.env_config).filter((name) => credential_overrides[name] !== undefined),
  };
}

interface PartsRow {
  workflow: WorkflowRow;
  provider: ProviderRow | null;
  tools: (ToolRow & { is_enabled: boolean })[];
}

/** Returns the resources that the changes of a fork refer to, as a new task of the workflow would be pinned with them. */
export async function pinForkParts(
  pool: pg.Pool,
  selection: { workflow_id: string; provider_id: string | null; custom_tool_ids: string[] },
): Promise<ForkParts> {
  const parts = await row<PartsRow>(pool, partsOfFork(selection));
  if (!parts) throw notFound('workflow', selection.workflow_id);
  const { workflow, provider, tools } = parts;
  return {
    provider: provider && pinProvider(provider),
    exchange_limits: mergeExchangeLimits(workflow, provider) ?? null,
    tools: tools.map((tool) => pinCustomTool(tool, workflow)),
    disabled: tools.filter(({ is_enabled }) => !is_enabled).map(({ name }) => name),
  };
}

/** Returns only the provider fields that a run needs: timestamps would change the hash of equal content. */
export function pinProvider(row: PinnedProvider): PinnedProvider {
  const { id, name, provider_type, api_key_token_name, base_url, auth_type, azure_api_version, azure_deployment } = row;
  const { default_model, requests_per_minute, price_table, context_window } = row;
  return {
    id,
    name,
    provider_type,
    api_key_token_name,
    base_url,
    auth_type,
    azure_api_version,
    azure_deployment,
    default_model,
    requests_per_minute,
    price_table,
    context_window,
  };
}

import { createHash } from 'node:crypto';
import type Anthropic from '@anthropic-ai/sdk';
import type { AgentCreateParams, BetaManagedAgentsAgentToolConfigParams } from '@anthropic-ai/sdk/resources/beta/agents/agents';
import type { Exchange } from '../runtime.ts';
import { toVendorEffort } from '../vendor-effort.ts';
import { iterateEntries, PAGE } from './pages.ts';

/** Tools that run at the vendor instead of here. */
export interface Hosted {
  /** Built-in tools; the vendor uses the same names. */
  builtins: string[];
  mcp_servers: { name: string; url: string; allowed_tools: string[] }[];
}

type VendorBuiltin = BetaManagedAgentsAgentToolConfigParams['name'];

const HASH = 'perdura_definition';
const TASK = 'perdura_task';
const ENVIRONMENT = 'perdura_environment';
const ENVIRONMENT_VERSION = '1';

export interface Vendor {
  client: Anthropic;
  signal: AbortSignal;
}

/** The session of a task: the existing one, from any worker, or a new one. */
export async function findOrCreateSession(
  vendor: Vendor,
  input: Exchange,
  { model, hosted }: { model: string; hosted: Hosted },
): Promise<string> {
  const { client, signal } = vendor;
  const agent = await findOrCreateAgent(vendor, agentParams(input, model, hosted));
  const sessions = client.beta.sessions.list({ agent_id: agent, include_archived: true, limit: PAGE }, { signal });
  for await (const { id, metadata } of iterateEntries(sessions, 'sessions')) if (metadata[TASK] === input.task_id) return id;
  const environment_id = await findOrCreateEnvironment(vendor);
  const title = `Perdura task ${input.task_id}`;
  const created = { agent, environment_id, title, metadata: { [TASK]: input.task_id } };
  return (await client.beta.sessions.create(created, { signal })).id;
}

/** Finds the session of an ended task whose replies do not name it; ignores archived ones. */
export async function findOpenSession(
  { client, signal }: Vendor,
  { task_id, since }: { task_id: string; since: Date },
): Promise<string | null> {
  const sessions = client.beta.sessions.list({ 'created_at[gte]': since.toISOString(), limit: PAGE }, { signal });
  for await (const { id, metadata } of iterateEntries(sessions, 'sessions')) if (metadata[TASK] === task_id) return id;
  return null;
}

/** Agents are identified by a hash of their configuration, so that equal ones are created once. */
async function findOrCreateAgent({ client, signal }: Vendor, params: AgentCreateParams): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(params)).digest('hex').slice(0, 32);
  const agents = client.beta.agents.list({ limit: PAGE }, { signal });
  for await (const { id, metadata } of iterateEntries(agents, 'agents')) if (metadata[HASH] === hash) return id;
  return (await client.beta.agents.create({ ...params, metadata: { [HASH]: hash } }, { signal })).id;
}

async function findOrCreateEnvironment({ client, signal }: Vendor): Promise<string> {
  const environments = client.beta.environments.list({ limit: PAGE }, { signal });
  for await (const { id, metadata } of iterateEntries(environments, 'environments'))
    if (metadata[ENVIRONMENT] === ENVIRONMENT_VERSION) return id;
  const config = { type: 'cloud' as const, networking: { type: 'unrestricted' as const } };
  const new_environment = { name: 'perdura', config, metadata: { [ENVIRONMENT]: ENVIRONMENT_VERSION } };
  return (await client.beta.environments.create(new_environment, { signal })).id;
}

function agentParams({ instructions, tools, reasoning_effort }: Exchange, model: string, hosted: Hosted): AgentCreateParams {
  const effort = toVendorEffort(reasoning_effort);
  return {
    name: 'Perdura agent',
    model: effort ? { id: model, effort } : model,
    system: instructions || null,
    mcp_servers: hosted.mcp_servers.map(({ name, url }) => ({ type: 'url' as const, name, url })),
    tools: [
      ...tools.map(({ name, description, parameters }) => ({
        type: 'custom' as const,
        name,
        description: description || name,
        input_schema: { ...parameters, type: 'object' as const },
      })),
      ...(hosted.builtins.length > 0 ? [builtinToolset(hosted.builtins)] : []),
      ...hosted.mcp_servers.map(({ name, allowed_tools }) => ({
        type: 'mcp_toolset' as const,
        mcp_server_name: name,
        default_config: { enabled: allowed_tools.length === 0, permission_policy: ALLOW },
        configs: allowed_tools.map((tool) => ({ name: tool, enabled: true, permission_policy: ALLOW })),
      })),
    ],
  };
}

/** The vendor never asks for approval: tools that an agent guards are not hosted there. */
const ALLOW = { type: 'always_allow' as const };

const builtinToolset = (names: string[]) => ({
  type: 'agent_toolset_20260401' as const,
  default_config: { enabled: false },
  configs: names.map((name) => ({ name: name as VendorBuiltin, enabled: true, permission_policy: ALLOW })),
});

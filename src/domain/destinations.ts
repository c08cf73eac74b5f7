import { listTokenNames } from './secrets.ts';

/** The kinds of resources that can name stored tokens, and so receive them. */
export const SECRET_HOLDERS = ['provider', 'custom_tool', 'mcp_server', 'knowledge_source', 'workflow'] as const;
export type SecretHolder = (typeof SECRET_HOLDERS)[number];

/** The names that people use for them. */
export const HOLDER_NOUNS: Record<SecretHolder, string> = {
  provider: 'provider',
  custom_tool: 'custom tool',
  mcp_server: 'MCP server',
  knowledge_source: 'knowledge source',
  workflow: 'workflow',
};

/**
 * A place that a secret is sent to. `facts` holds everything that decides where it goes or which code sees it, so two places with
 * equal facts are the same.
 */
export interface Destination {
  kind: SecretHolder;
  id: string;
  /** The name of the resource, for people. */
  name: string;
  facts: unknown;
  /** A description of the destination that holds no secret. */
  label: string;
}

/** A resource's request to use a stored token for a destination. */
export interface TokenReference {
  token: string;
  destination: Destination;
}

interface Named {
  id: string;
  name: string;
}

interface ProviderFacts extends Named {
  provider_type: string;
  base_url: string | null;
  auth_type: string;
  azure_api_version: string | null;
  azure_deployment: string | null;
}

export function providerDestination(provider: ProviderFacts): Destination {
  const { id, name, provider_type, base_url, auth_type, azure_api_version, azure_deployment } = provider;
  const facts = { provider_type, base_url, auth_type, azure_api_version, azure_deployment };
  return { kind: 'provider', id, name, facts, label: base_url ? formatHost(base_url) : `the address of ${provider_type} itself` };
}

interface McpFacts extends Named {
  transport_type: string;
  /** The configuration with its sealed values opened, and names of stored tokens still in their places. */
  connection_config: unknown;
  network: boolean;
  paths: string[];
}

export function mcpDestination({ id, name, transport_type, connection_config, network, paths }: McpFacts): Destination {
  const facts = { transport_type, connection_config, network, paths };
  const { url, command } = connection_config as { url?: unknown; command?: unknown };
  const label = transport_type === 'stdio' ? `the command ${String(command)}` : formatHost(url);
  return { kind: 'mcp_server', id, name, facts, label };
}

interface SourceFacts extends Named {
  source_type: string;
  /** The configuration in the same form as an MCP server's. */
  connection_config: unknown;
}

export function sourceDestination({ id, name, source_type, connection_config }: SourceFacts): Destination {
  const { url, host } = connection_config as { url?: unknown; host?: unknown };
  const label = typeof host === 'string' ? host : formatHost(url);
  return { kind: 'knowledge_source', id, name, facts: { source_type, connection_config }, label };
}

interface ToolFacts extends Named {
  source_code: string;
  network: boolean;
}

/** Returns the destination of one of a tool's variables. The name is that of the function that is called. */
export function toolDestination({ id, name, source_code, network }: ToolFacts, variable: string): Destination {
  const facts = { name, source_code, network, variable };
  return { kind: 'custom_tool', id, name, facts, label: `${variable} of ${name}` };
}

interface WorkflowPlace {
  id: string;
  title: string | null;
}

const identifyWorkflow = ({ id, title }: WorkflowPlace) => ({ kind: 'workflow' as const, id, name: title ?? id });

export const repositoryDestination = (workflow: WorkflowPlace, repo_url: string): Destination => ({
  ...identifyWorkflow(workflow),
  facts: { repo_url },
  label: `the repository at ${formatHost(repo_url)}`,
});

/**
 * Returns the destination of a variable whose token the workflow overrides. A tool that the agent gets later is another
 * destination.
 */
export const overrideDestination = (workflow: WorkflowPlace, tool: ToolFacts, variable: string): Destination => ({
  ...identifyWorkflow(workflow),
  facts: { tool: tool.id, ...(toolDestination(tool, variable).facts as object) },
  label: `${variable} of the tool ${tool.name}`,
});

type EnvConfig = Record<string, { token_name?: string | null | undefined }>;

/** Functions that list the stored tokens that a resource currently asks for. */
export const tokenReferences = {
  provider: (provider: ProviderFacts & { api_key_token_name: string | null }): TokenReference[] =>
    provider.api_key_token_name ? [{ token: provider.api_key_token_name, destination: providerDestination(provider) }] : [],
  mcp_server: (server: McpFacts): TokenReference[] =>
    listTokenNames(server.connection_config).map((token) => ({ token, destination: mcpDestination(server) })),
  knowledge_source: (source: SourceFacts): TokenReference[] =>
    listTokenNames(source.connection_config).map((token) => ({ token, destination: sourceDestination(source) })),
  custom_tool: (tool: ToolFacts & { env_config?: EnvConfig | undefined }): TokenReference[] =>
    Object.entries(tool.env_config ?? {}).flatMap(([variable, { token_name }]) =>
      token_name ? [{ token: token_name, destination: toolDestination(tool, variable) }] : [],
    ),
  /** Lists the tokens that a workflow asks for. `tools`: the tools of its agent. */
  workflow(
    workflow: WorkflowPlace & { repo_url: string | null; repo_token_name: string | null; credential_overrides: unknown },
    tools: readonly (ToolFacts & { env_config?: unknown })[],
  ): TokenReference[] {
    const { repo_url, repo_token_name, credential_overrides } = workflow;
    const overrides = Object.entries(credential_overrides as Record<string, string>);
    return [
      ...(repo_url && repo_token_name
        ? [{ token: repo_token_name, destination: repositoryDestination(workflow, repo_url) }]
        : []),
      ...tools.flatMap((tool) =>
        overrides
          .filter(([variable]) => variable in ((tool.env_config ?? {}) as object))
          .map(([variable, token]) => ({ token, destination: overrideDestination(workflow, tool, variable) })),
      ),
    ];
  },
};

/** Formats host and port of an address; the rest of it may be secret. */
function formatHost(address: unknown): string {
  if (typeof address !== 'string' || !URL.canParse(address)) return 'an address that is not shown';
  return new URL(address).host || 'an address that is not shown';
}

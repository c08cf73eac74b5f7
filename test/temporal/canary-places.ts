/** Every place in the API's schemas where a secret, or what leads to one, can be set: the rows of the matrix that go through it. */
export const PLACES: Record<string, readonly string[] | string> = {
  'StoredTokenCreate.value': ['provider bearer', 'tool env', 'MCP header by token', 'rotated'],
  'ProviderCreate.api_key_token_name': [
    'provider bearer',
    'provider x-api-key',
    'provider azure',
    'provider openai',
    'provider vendor',
  ],
  'ProviderCreate.auth_type': ['provider bearer', 'provider x-api-key'],
  'ProviderDraftCreate.api_key': ['provider draft bearer', 'provider draft x-api-key'],
  'ProviderDraftCreate.auth_type': ['provider draft bearer', 'provider draft x-api-key'],
  'McpServerCreate.connection_config': [
    'MCP header by token',
    'MCP header sealed',
    'MCP url sealed',
    'MCP oauth client',
    'MCP sse header',
    'MCP stdio env',
    'MCP stdio args',
  ],
  'McpImport.mcpServers.*.args': ['MCP imported args'],
  'McpImport.mcpServers.*.env': ['MCP imported env'],
  'McpImport.mcpServers.*.headers': ['MCP imported header'],
  'CustomToolCreate.env_config': ['tool env'],
  'EnvConfig.*.token_name': ['tool env'],
  'EnvMappingCreate.env_mapping': ['tool env'],
  'KnowledgeSourceCreate.connection_config': ['Qdrant sealed', 'Qdrant by token', 'pgvector'],
  'WorkflowCreate.repo_token_name': ['repository'],
  'WorkflowCreate.credential_overrides': ['override'],
  'WorkflowCreate.webhook_url': ['webhook secret'],
  'WorkflowCreate.error_webhook_url': ['webhook secret'],
  'AlertCreate.webhook_url': 'its messages have the sender, the secret and the record of those of workflows',
};

/** An update and an item of an export have the fields of what creates them. */
export const creating = (path: string) =>
  path.replace(/^(?:Exported)?(\w+?)(?:Create|Update)?\./, (whole, name) =>
    /^EnvConfig|^McpImport/.test(whole) ? whole : `${name}Create.`,
  );

/** Names of fields that hold a secret or lead to one. */
export const SECRET_FIELD =
  /token_name|api_key|secret|passw|credential|^auth|^env|headers|connection_config|webhook_url|^args$|private|cert/i;

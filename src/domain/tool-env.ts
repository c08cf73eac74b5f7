type EnvConfig = Record<string, { token_name: string | null; description?: string | undefined }>;

/** Returns the variables that a tool's file declares. Existing mappings and settings are kept. */
export function withDeclared(config: EnvConfig, variables: Record<string, string>): EnvConfig {
  const new_entries = Object.entries(variables).map(([name, description]) => [name, { token_name: null, description }]);
  return { ...Object.fromEntries(new_entries), ...config };
}

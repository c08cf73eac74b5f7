type EnvConfig = Record<string, { token_name: string | null; description?: string | undefined }>;

/** Returns the variables that a tool's file declares. Existing mappings and settings are kept. */
export function withDeclared(config: EnvConfig, declared: Record<string, string>): EnvConfig {
  const fresh = Object.entries(declared).map(([name, description]) => [name, { token_name: null, description }]);
  return { ...Object.fromEntries(fresh), ...config };
}

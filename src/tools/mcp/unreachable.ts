/** Why nothing can be asked of a server, as a sentence for its person. */
export const unreachable = (name: string, reason: string, cause?: unknown): Error =>
  new Error(`The MCP server ${name} cannot be reached: ${reason}`, { cause });

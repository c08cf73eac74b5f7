/** Creates the error that a server is unreachable, with the reason, as a sentence for its owner. */
export const createUnreachableError = (name: string, reason: string, cause?: unknown): Error =>
  new Error(`The MCP server ${name} cannot be reached: ${reason}`, { cause });

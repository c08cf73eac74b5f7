import type { McpProbe } from '../api/mcps.ts';
import { AppError } from '../domain/errors.ts';

const REASON = 'This build of Perdura connects to no MCP servers yet';

/** Stands where the MCP client will be bound. */
export const mcpProbe = (): McpProbe => ({
  async test() {
    throw new AppError('upstream', REASON, { code: 'mcp_unavailable' });
  },
  async tools() {
    throw new AppError('upstream', REASON, { code: 'mcp_unavailable' });
  },
});

import { join } from 'node:path';
import { createMcpState, type McpState } from '../../tools/mcp/state.ts';
import type { Config } from '../config.ts';

const MIB = 1024 * 1024;

/** Returns what the environment sets of the state of stdio servers, whose folder backups contain. */
export const getStateSettings = ({ PERDURA_HOME, MCP_STATE_MB, MCP_STATE_FILES }: Config) => ({
  parent: join(PERDURA_HOME, 'mcp-state'),
  limits: { bytes: MCP_STATE_MB * MIB, files: MCP_STATE_FILES },
});

/** Opens the state of stdio servers. */
export const openMcpState = (config: Config): McpState => createMcpState(getStateSettings(config));

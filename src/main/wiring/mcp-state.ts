import { join } from 'node:path';
import { createMcpState, type McpState } from '../../tools/mcp/state.ts';
import type { Config } from '../config.ts';

const MIB = 1024 * 1024;

/** Opens the state of stdio servers, which backups contain. */
export const openMcpState = ({ PERDURA_HOME, MCP_STATE_MB, MCP_STATE_FILES }: Config): McpState =>
  createMcpState({
    parent: join(PERDURA_HOME, 'mcp-state'),
    limits: { bytes: MCP_STATE_MB * MIB, files: MCP_STATE_FILES },
  });

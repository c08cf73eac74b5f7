import type { Caller } from '../api/auth.ts';
import type { McpProbe } from '../api/mcps.ts';
import type { McpServer } from '../contracts/mcps.ts';
import { AppError } from '../domain/errors.ts';
import { type ProbeResult, probeMcp } from '../tools/mcp/probe.ts';
import type { Core } from './core.ts';
import { VERSION } from './places.ts';

const PATIENCE_MS = 40_000;

/** Reaches MCP servers for the API, in the name of whoever asks; how it went is kept with the server. */
export function mcpProbe({ store, setting, runner, egress }: Core): McpProbe {
  const startConfined = setting.config.ALLOW_STDIO_MCP ? runner.startConfined : null;
  const ports = { startConfined, fetch: egress.fetch, version: VERSION };

  async function probe({ id, name }: McpServer, caller: Caller): Promise<ProbeResult> {
    const server = await store.mcpServers.opened(id);
    if (!server) throw new AppError('not_found', `The MCP server ${name} is gone`);
    const purpose = `MCP server ${name}, tried by hand`;
    const openToken = (token: string) => store.tokens.valueOf({ name: token, principal: caller.key, purpose });
    const result = await probeMcp(server as never, { ...ports, openToken }, AbortSignal.timeout(PATIENCE_MS));
    await store.mcpServers.setStatus(id, result.success ? 'connected' : 'error', result.error);
    return result;
  }

  return {
    async test(server, caller) {
      const { success, tools, error } = await probe(server, caller);
      return { success, tools: tools.map(({ name }) => name), error };
    },
    async tools(server, caller) {
      const { success, tools, error } = await probe(server, caller);
      if (!success) throw new AppError('upstream', error ?? 'The server cannot be reached', { code: 'mcp_unavailable' });
      const { allowed_tools } = server;
      return tools.map((tool) => ({ ...tool, allowed: allowed_tools.length === 0 || allowed_tools.includes(tool.name) }));
    },
  };
}

import type { McpProbe } from '../../api/ports.ts';
import type { McpServer, McpToolList } from '../../contracts/mcps.ts';
import { mcpDestination } from '../../domain/destinations.ts';
import { AppError, formatRefusal, isMcpSignInNeeded, isSecretNotGranted } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import { createPersonalFetch } from '../../tools/mcp/bearer.ts';
import type { McpTarget } from '../../tools/mcp/config.ts';
import type { McpConnection } from '../../tools/mcp/connection.ts';
import { isMcpFailure, McpRefused } from '../../tools/mcp/failures.ts';
import { type ProbeResult, probeMcp, withMcpServer } from '../../tools/mcp/probe.ts';
import { fillPrompt, listPrompts } from '../../tools/mcp/prompts.ts';
import type { SharedServices } from '../core.ts';
import { openMcpState } from './mcp-state.ts';
import { schemaJudge } from './parsers.ts';

const createUnavailableError = (sentence: string) => new AppError('upstream', sentence, { code: 'mcp_unavailable' });

/** How long an installation may take while the caller waits; it continues afterwards. */
const INSTALL_MS = 25_000;

type Work<T> = (connection: McpConnection, signal: AbortSignal) => Promise<T>;

type Needs = Pick<SharedServices, 'store' | 'setting' | 'runner' | 'mcp_packages' | 'egress' | 'secrets' | 'parsers'>;

const createRefusedError = (message: string) =>
  new AppError('unprocessable', message, { code: 'mcp_refused', errors: [{ path: 'name', message }] });

/** The result is stored with the server only if the caller made the server: for everybody else its secrets do not open. */
export function createMcpProbe({ store, setting, runner, mcp_packages, egress, secrets, parsers }: Needs): McpProbe {
  const startConfined = setting.config.ALLOW_STDIO_MCP ? runner.startConfined : null;
  const schemaFaults = schemaJudge(parsers, setting.config);
  const fetch_options = { fetch: egress.configuration.fetch, message_bytes: egress.limits.message };
  const personal = createPersonalFetch(egress.configuration.fetch, store.mcpSignIns);
  const packages = { packages: mcp_packages, install_ms: INSTALL_MS };
  const state = openMcpState(setting.config);
  const ports = { startConfined, state, ...packages, ...fetch_options, schemaFaults, version: setting.version };

  /** Returns a server with its secrets opened, and what reaches it in the caller's name. */
  async function openServer({ id, name }: McpServer, caller: Caller) {
    const server = await store.mcpServers.findOpened(id);
    if (!server) throw new AppError('not_found', `The MCP server ${name} was deleted`);
    const destination = mcpDestination(server);
    const openToken = (token: string) => store.tokens.open({ name: token, principal: caller.key, destination });
    const fetchFor = (target: McpTarget) => personal({ target, principal: caller.key });
    return { server, reach: { ...ports, openToken, fetchFor, principal: caller.key } };
  }

  async function probe(stored: McpServer, caller: Caller): Promise<ProbeResult> {
    const { id, created_by } = stored;
    const { server, reach } = await openServer(stored, caller);
    const result = secrets.redact.value(await probeMcp(server, reach));
    const { signed_in, tools } = result;
    if (result.success) await store.mcpListings.save({ server, principal: caller.key, signed_in, tools });
    if (created_by === caller.key) await store.mcpServers.setStatus(id, result.success ? 'connected' : 'error', result.error);
    return result;
  }

  /** Does work with a server that the caller waits for. */
  async function askServer<T>(stored: McpServer, caller: Caller, work: Work<T>): Promise<T> {
    const { server, reach } = await openServer(stored, caller);
    try {
      return secrets.redact.value(await withMcpServer(server, reach, work));
    } catch (error) {
      if (isSecretNotGranted(error) || isMcpSignInNeeded(error)) throw error;
      const reason = secrets.redact.text(formatRefusal(error as Error));
      if (error instanceof McpRefused && error.status !== 401 && error.status !== 403)
        throw createRefusedError(`The MCP server ${stored.name} answered with an error: ${reason}`);
      throw createUnavailableError(isMcpFailure(error) ? `The MCP server ${stored.name} cannot be used: ${reason}` : reason);
    }
  }

  async function loadTools({ id, allowed_tools, status, last_error }: McpServer, caller: Caller): Promise<McpToolList> {
    const listing = (await store.mcpListings.of([id], caller.key)).get(id);
    const refresh = `POST /api/mcps/${id}/tools/refresh`;
    if (!listing && status === 'error')
      throw createUnavailableError(`${last_error ?? 'The server cannot be reached'}; try again with ${refresh}`);
    if (!listing)
      return { tools: [], listed_at: null, note: `The server has not listed its tools for you yet; ${refresh} asks it` };
    const isAllowed = (name: string) => allowed_tools.length === 0 || allowed_tools.includes(name);
    return { ...listing, tools: listing.tools.map((tool) => ({ ...tool, allowed: isAllowed(tool.name) })), note: null };
  }

  return {
    starts_stdio: setting.config.ALLOW_STDIO_MCP ?? false,
    pathRefusal: runner.pathRefusal,
    async test(server, caller) {
      const { success, tools, error } = await probe(server, caller);
      return { success, tools: tools.map(({ name }) => name), error };
    },
    async refresh(server, caller) {
      const { success, error } = await probe(server, caller);
      if (!success) throw createUnavailableError(error);
      return loadTools(server, caller);
    },
    loadTools: loadTools,
    clearState: ({ id: server_id }, { key: principal }) => state.clear({ server_id, principal }),
    removeState: state.remove,
    listPrompts: async (server, caller) => ({ prompts: await askServer(server, caller, listPrompts) }),
    fillPrompt: async (server, filled, caller) => ({
      text: await askServer(server, caller, (connection, signal) => fillPrompt(connection, filled, signal)),
    }),
  };
}

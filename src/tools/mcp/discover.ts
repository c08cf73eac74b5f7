import type { LogData } from '../../contracts/events.ts';
import type { AllowedMcpTool, PinnedMcpServer } from '../../domain/definition.ts';
import { formatRefusal } from '../../domain/errors.ts';
import { findOutage } from '../../domain/outages.ts';
import { findOutsideRefusal, outsideSentence } from '../../domain/outside.ts';
import type { McpListedTool } from '../../store/resources/mcp-listings.ts';
import { type McpServerConfig, type OpenServerToken, resolveTarget } from './config.ts';
import type { McpConnection } from './connection.ts';
import { isMcpFailure } from './failures.ts';
import { type Listing, toMcpToolRecord } from './listing.ts';
import type { McpPool } from './pool.ts';

export interface McpPorts {
  pool: McpPool;
  /** Returns a server's configuration with sealed values opened; templates are filled in later. */
  openConfig(server: PinnedMcpServer): Promise<McpServerConfig>;
  /** How long a server is waited for that has listed tools before, and is lost now. */
  patience_ms?: number;
}

interface RunOfServers {
  openToken: OpenServerToken;
  principal: string;
  /** The ids of the servers that have listed their tools a short time ago. */
  listed?: ReadonlySet<string>;
  /** Receives what takes long, as sentences for people. */
  report?: (sentence: string) => void;
}

const PATIENCE_MS = 20_000;

interface DiscoveredListing {
  server: McpServerConfig;
  signed_in: boolean;
  tools: McpListedTool[];
}

interface Discovery {
  tools: AllowedMcpTool[];
  /** The log events of discovery. */
  notes: LogData<'mcp_connected' | 'mcp_error'>[];
  /** The reasons why required servers cannot be used, as sentences. */
  missing: Error[];
  /** The tools that the run lacks, with the reason: all tools of a server, or some by name. */
  lost: { server: string; tools?: string[]; reason: string }[];
  /** Every tool that each server listed, allowed or not. */
  listings: DiscoveredListing[];
}

/**
 * Asks all servers of a run for their tools, in parallel. If a server is down, the run lacks its tools but continues; a server
 * that had them a short time ago is waited for first.
 */
export async function discover(
  servers: readonly PinnedMcpServer[],
  { pool, openConfig, openToken, principal, listed, report, patience_ms = PATIENCE_MS }: McpPorts & RunOfServers,
  signal: AbortSignal,
): Promise<Discovery> {
  const discovery: Discovery = { tools: [], notes: [], missing: [], lost: [], listings: [] };
  const results = await Promise.allSettled(
    servers.map(async (server) => {
      if (server.disabled) throw new Error(`The MCP server ${server.name} is disabled; enable it for further runs`);
      const config = await openConfig(server);
      const target = await resolveTarget(config, (name) => openToken(name, config));
      const listTools = async (connection: McpConnection) => {
        const listing = await connection.list(signal);
        return {
          listing,
          stored: { server: config, signed_in: connection.isSignedIn(), tools: listing.tools.map(toMcpToolRecord) },
        };
      };
      const waiting = { report, ...(listed?.has(server.id) && { patience_ms }) };
      return pool.use({ target, principal }, listTools, signal, waiting).catch((error: Error) => {
        throw findOutsideRefusal(error) === error || isMcpFailure(error) ? withServerName(error, server) : error;
      });
    }),
  );
  signal.throwIfAborted();
  // A failure of this installation is not the fault of a server, so the step is retried.
  for (const outcome of results) if (outcome.status === 'rejected' && findOutage(outcome.reason)) throw outcome.reason;
  for (const [index, outcome] of results.entries()) {
    const server = servers[index] as PinnedMcpServer;
    if (outcome.status === 'fulfilled') {
      discovery.listings.push(outcome.value.stored);
      addListing(server, outcome.value.listing, discovery);
    } else {
      const reason = outcome.reason as Error;
      discovery.notes.push({ event: 'mcp_error', detail: formatRefusal(reason), server: server.name });
      if (server.required) discovery.missing.push(reason);
      else discovery.lost.push({ server: server.name, reason: formatRefusal(reason) });
    }
  }
  return discovery;
}

/** Adds the server's name to an error about its answer. */
const withServerName = (error: Error, { name }: PinnedMcpServer) =>
  new Error(`The MCP server ${name} cannot be used: ${outsideSentence(error)}`, { cause: error });

function addListing(server: PinnedMcpServer, { tools, problems, refused_tools }: Listing, discovery: Discovery): void {
  const isAllowed = ({ tool }: { tool: string }) => server.allowed_tools.length === 0 || server.allowed_tools.includes(tool);
  const allowed_tools = tools.filter(isAllowed);
  for (const one of allowed_tools) discovery.tools.push({ server_id: server.id, ...one });
  const names = allowed_tools.map(({ tool }) => tool);
  const detail = `${server.name}: ${names.length} tools`;
  discovery.notes.push({ event: 'mcp_connected', detail, server: server.name, tools: names });
  const absent = server.allowed_tools.filter((name) => ![...tools, ...refused_tools].some(({ tool }) => tool === name));
  if (absent.length > 0) problems = [...problems, `It has no tool named ${absent.join(', ')}`];
  const missing_tools = [
    ...refused_tools.filter(isAllowed),
    ...absent.map((tool) => ({ tool, reason: 'the server has no such tool' })),
  ];
  for (const [reason, group] of Map.groupBy(missing_tools, (one) => one.reason))
    discovery.lost.push({ server: server.name, tools: group.map(({ tool }) => tool), reason });
  for (const problem of problems)
    discovery.notes.push({ event: 'mcp_error', detail: `${server.name}: ${problem}`, server: server.name });
}

import { formatRefusal, isSecretNotGranted } from '../../domain/errors.ts';
import type { McpListedTool } from '../../store/resources/mcp-listings.ts';
import type { PersonalFetch } from './bearer.ts';
import { type McpServerConfig, type McpTarget, type OpenToken, resolveTarget } from './config.ts';
import type { ConnectPorts } from './connect-ports.ts';
import { connect, type McpConnection } from './connection.ts';
import { toMcpToolRecord } from './listing.ts';

export type ProbeResult = {
  tools: McpListedTool[];
  /** True if the caller's sign-in was sent. */
  signed_in: boolean;
} & ({ success: true; error: string | null } | { success: false; error: string });

interface ProbePorts extends ConnectPorts {
  version: string;
  /** Opens tokens in the caller's name. */
  openToken: OpenToken;
  /** Returns a fetch with the caller's sign-in at the server. */
  fetchFor?: (target: McpTarget) => PersonalFetch;
  /** The time for all answers of the server, once it is connected. */
  patience_ms?: number;
}

/** How long a request waits for a connection, also to a server that may take longer in a run. */
const LONGEST_CONNECT_SECONDS = 30;
const PATIENCE_MS = 40_000;

/**
 * Connects to a server, lists its tools, and disconnects. A failure is reported in the answer, as a sentence. A missing grant
 * is thrown, since nothing was tried.
 */
export async function probeMcp(server: McpServerConfig, ports: ProbePorts): Promise<ProbeResult> {
  try {
    return await withMcpServer(server, ports, async (connection, signal) => {
      const { tools, problems } = await connection.list(signal);
      const error = problems.length > 0 ? problems.join('; ') : null;
      return { success: true, tools: tools.map(toMcpToolRecord), signed_in: connection.isSignedIn(), error };
    });
  } catch (error) {
    if (isSecretNotGranted(error)) throw error;
    return { success: false, tools: [], signed_in: false, error: formatRefusal(error as Error) };
  }
}

/** Connects to a server, does the work, and disconnects. The signal aborts the work when the server had its time for it. */
export async function withMcpServer<T>(
  server: McpServerConfig,
  ports: ProbePorts,
  work: (connection: McpConnection, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const target = await resolveTarget(server, ports.openToken);
  const { connect_seconds = LONGEST_CONNECT_SECONDS } = target;
  const short = { ...target, connect_seconds: Math.min(connect_seconds, LONGEST_CONNECT_SECONDS) };
  const connection = await connect(short, { ...ports, ...ports.fetchFor?.(target) }, ports.version);
  const { patience_ms = PATIENCE_MS } = ports;
  const signal = AbortSignal.timeout(patience_ms);
  try {
    return await work(connection, signal);
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    throw new Error(`The MCP server ${target.name} did not answer within ${patience_ms / 1_000} s; try again`, { cause: error });
  } finally {
    await connection.close().catch(() => {});
  }
}

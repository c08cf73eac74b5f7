import { formatRefusal, isSecretNotGranted } from '../../domain/errors.ts';
import type { McpListedTool } from '../../store/resources/mcp-listings.ts';
import type { PersonalFetch } from './bearer.ts';
import { type McpServerConfig, type McpTarget, type OpenToken, resolveTarget } from './config.ts';
import type { ConnectPorts } from './connect-ports.ts';
import { connect, type McpConnection } from './connection.ts';
import { toMcpToolRecord } from './listing.ts';

export interface ProbeResult {
  success: boolean;
  tools: McpListedTool[];
  /** True if the caller's sign-in was sent. */
  signed_in: boolean;
  error: string | null;
}

interface ProbePorts extends ConnectPorts {
  version: string;
  /** Opens tokens in the caller's name. */
  openToken: OpenToken;
  /** Returns a fetch with the caller's sign-in at the server. */
  fetchFor?: (target: McpTarget) => PersonalFetch;
}

/** How long a request waits for a connection, also to a server that may take longer in a run. */
const LONGEST_CONNECT_SECONDS = 30;

/**
 * Connects to a server, lists its tools, and disconnects. A failure is reported in the answer, as a sentence. A missing grant
 * is thrown, since nothing was tried.
 */
export async function probeMcp(server: McpServerConfig, ports: ProbePorts, signal: AbortSignal): Promise<ProbeResult> {
  try {
    return await withMcpServer(server, ports, async (connection) => {
      const { tools, problems } = await connection.list(signal);
      const error = problems.length > 0 ? problems.join('; ') : null;
      return { success: true, tools: tools.map(toMcpToolRecord), signed_in: connection.isSignedIn(), error };
    });
  } catch (error) {
    if (isSecretNotGranted(error)) throw error;
    return { success: false, tools: [], signed_in: false, error: formatRefusal(error as Error) };
  }
}

/** Connects to a server, does the work, and disconnects. */
export async function withMcpServer<T>(
  server: McpServerConfig,
  ports: ProbePorts,
  work: (connection: McpConnection) => Promise<T>,
): Promise<T> {
  const target = await resolveTarget(server, ports.openToken);
  const { connect_seconds = LONGEST_CONNECT_SECONDS } = target;
  const short = { ...target, connect_seconds: Math.min(connect_seconds, LONGEST_CONNECT_SECONDS) };
  const connection = await connect(short, { ...ports, ...ports.fetchFor?.(target) }, ports.version);
  try {
    return await work(connection);
  } finally {
    await connection.close().catch(() => {});
  }
}

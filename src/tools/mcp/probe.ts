import type { ToolEffect } from '../../domain/definition.ts';
import { isSecretNotGranted, refusalIn } from '../../domain/errors.ts';
import { type McpServerConfig, type McpTarget, type OpenToken, targetOf } from './config.ts';
import { type ConnectPorts, connect } from './connection.ts';

interface ProbedTool {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  effect: ToolEffect;
}

export interface ProbeResult {
  success: boolean;
  tools: ProbedTool[];
  error: string | null;
}

interface ProbePorts extends ConnectPorts {
  version: string;
  /** Opens tokens in the caller's name. */
  openToken: OpenToken;
  /** With the caller's sign-in at the server. */
  fetchFor?: (target: McpTarget) => typeof globalThis.fetch;
}

/** Connects to a server, asks for its tools, and disconnects. A failure is reported in the answer, as a sentence. A missing grant is thrown, since nothing was tried. */
export async function probeMcp(server: McpServerConfig, ports: ProbePorts, signal: AbortSignal): Promise<ProbeResult> {
  try {
    const target = await targetOf(server, ports.openToken);
    const { fetchFor } = ports;
    const connection = await connect(target, { ...ports, ...(fetchFor && { fetch: fetchFor(target) }) }, ports.version);
    try {
      const { tools, problems } = await connection.list(signal);
      const toolList = tools.map(({ tool, spec: { description, parameters, effect } }) => ({
        name: tool,
        description,
        parameters,
        effect,
      }));
      return { success: true, tools: toolList, error: problems.length > 0 ? problems.join('; ') : null };
    } finally {
      await connection.close().catch(() => {});
    }
  } catch (error) {
    if (isSecretNotGranted(error)) throw error;
    return { success: false, tools: [], error: refusalIn(error as Error) };
  }
}

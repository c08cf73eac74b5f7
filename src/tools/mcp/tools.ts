import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import type { AllowedMcpTool, PinnedMcpServer } from '../../domain/definition.ts';
import type { ToolEffect } from '../../domain/effects.ts';
import { formatRefusal, isMcpSignInNeeded } from '../../domain/errors.ts';
import { findOutage } from '../../domain/outages.ts';
import { findOutsideRefusal, truncate } from '../../domain/outside.ts';
import { textWithReason } from '../../domain/reason.ts';
import { toolIdentity } from '../../domain/tool-guards.ts';
import { type RunContext, type ToolCall, type ToolOutcome, type ToolSource, ToolUnreachable } from '../source.ts';
import { type McpServerConfig, resolveTarget } from './config.ts';
import type { McpConnection } from './connection.ts';
import type { McpPorts } from './discover.ts';

export interface McpToolPorts extends McpPorts {
  /** Opens a stored token in the name of the run's owner; throws a sentence if it may not be used. */
  openToken(name: string, server: McpServerConfig, run: Pick<RunContext, 'owner' | 'task_id'>): Promise<string>;
}

/** Creates the tools of one server, as they were found when the run began. */
export function createMcpTools(ports: McpToolPorts, server: PinnedMcpServer, tools: readonly AllowedMcpTool[]): ToolSource {
  // Two of a server's names can become the same name for a model, so a call refers to its tool by identity.
  const identity = ({ tool }: AllowedMcpTool) => toolIdentity('mcp', server.id, tool);
  return {
    list: async () => tools.map((one) => ({ ...one.spec, identity: identity(one), own_name: one.tool })),
    async call(call, signal) {
      const tool = tools.find((one) => (call.identity ? identity(one) === call.identity : one.spec.name === call.name));
      if (!tool) return { content: `There is no tool named ${call.name}`, failed: true };
      const config = await ports.openConfig(server);
      const open = (name: string) => ports.openToken(name, config, call.run);
      const target = await resolveTarget(config, open).catch((error: Error) => error);
      if (target instanceof Error) return { content: formatRefusal(target), failed: true };
      const work = (connection: McpConnection) => callThrough(connection, { call, tool, server }, signal);
      const place = { target, principal: call.run.owner, task_id: call.run.task_id };
      return ports.pool.use(place, work, signal).catch((error: Error) => {
        if (isMcpSignInNeeded(error)) return { content: formatRefusal(error), failed: true };
        throw error;
      });
    },
  };
}

interface ServerCall {
  call: ToolCall;
  tool: AllowedMcpTool;
  server: PinnedMcpServer;
}

async function callThrough(
  connection: McpConnection,
  { call, tool, server }: ServerCall,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const { arguments: args, call_key, progress, ask, run } = call;
  const onprogress = progress && createProgressReporter(progress);
  try {
    const { task_id } = run;
    return await connection.call({ tool: tool.tool, arguments: args, call_key, onprogress, task_id, ask }, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isMcpSignInNeeded(error)) throw error;
    const refusal = findOutsideRefusal(error);
    if (refusal) return { content: `${refusal.code}: ${sentence(server, refusal.message)}`, failed: true };
    if (wasNotSent(error)) throw new ToolUnreachable(`The MCP server ${server.name} is out of reach`, { cause: error });
    if (connection.isClosed() || !(error instanceof McpError)) return reportLostCall(server, tool.spec.effect, error as Error);
    return { content: `The MCP server ${server.name} answered with an error: ${truncate(error.message)}`, failed: true };
  }
}

/** Returns the error text of a call that was made: another attempt would get the same answer. */
const sentence = ({ name }: PinnedMcpServer, message: string) =>
  `The MCP server ${name} made the call, but its answer could not be read: ${message}`;

/** True if the call cannot have taken effect: no request or connection was made, or the server does not know the session. */
function wasNotSent(error: unknown): boolean {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  if (error instanceof ToolUnreachable || findOutage(error)) return true;
  return (error instanceof StreamableHTTPError && code === 404) || cause?.code === 'ECONNREFUSED';
}

/** Retries a call that is read-only or idempotent; for any other, reports the uncertain outcome to the model. */
function reportLostCall({ name }: PinnedMcpServer, effect: ToolEffect, error: Error): ToolOutcome {
  const cause = `The MCP server ${name} was lost while the tool ran (${truncate(textWithReason(error))})`;
  if (effect !== 'write') throw new ToolUnreachable(cause, { cause: error, reached: true });
  return { content: `${cause}; whether the call had its effect is not known`, failed: true };
}

const REPORT_EVERY_MS = 1_000;

/** Creates a reporter that emits at most one report per second, however many the server sends. */
function createProgressReporter(report: NonNullable<ToolCall['progress']>) {
  let reported_at = Number.NEGATIVE_INFINITY;
  return ({ progress, total, message }: { progress: number; total?: number | undefined; message?: string | undefined }) => {
    if (performance.now() - reported_at < REPORT_EVERY_MS) return;
    reported_at = performance.now();
    const text = message === undefined ? (total ? `${progress} of ${total}` : `${progress}`) : truncate(message);
    report(text, { progress, ...(total ? { total } : {}) });
  };
}

import type { AllowedMcpTool, PinnedMcpServer } from '../../domain/definition.ts';
import type { ToolEffect } from '../../domain/effects.ts';
import { formatRefusal, isMcpSignInNeeded } from '../../domain/errors.ts';
import { findOutage } from '../../domain/outages.ts';
import { findOutsideRefusal, truncate } from '../../domain/outside.ts';
import { textWithReason } from '../../domain/reason.ts';
import { toolIdentity } from '../../domain/tool-guards.ts';
import { type RunContext, type ToolCall, type ToolOutcome, type ToolSource, ToolUncertain, ToolUnreachable } from '../source.ts';
import { type McpServerConfig, resolveTarget } from './config.ts';
import type { McpConnection } from './connection.ts';
import type { McpPorts } from './discover.ts';
import { McpLost, McpRefused, McpSilent, McpUnreadable } from './failures.ts';
import { STATE_FULL } from './state.ts';

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
      const tool = tools.find((one) => (call.identity ? identity(one) === call.identity : one.spec.name === call.name))!;
      const config = await ports.openConfig(server);
      const open = (name: string) => ports.openToken(name, config, call.run);
      const target = await resolveTarget(config, open).catch((error: Error) => error);
      if (target instanceof Error) return { content: formatRefusal(target), failed: true };
      const report = (error: Error) => {
        signal.throwIfAborted();
        return toOutcome(error, server, tool.spec.effect);
      };
      const work = (connection: McpConnection) =>
        callThrough(connection, { call, tool }, signal).catch((error: Error) => {
          // The pool repeats what was not executed, once.
          if (error instanceof McpLost && !error.sent) throw error;
          return report(error);
        });
      const place = { target, principal: call.run.owner, task_id: call.run.task_id };
      return ports.pool.use(place, work, signal).catch(report);
    },
  };
}

interface ServerCall {
  call: ToolCall;
  tool: AllowedMcpTool;
}

function callThrough(connection: McpConnection, { call, tool }: ServerCall, signal: AbortSignal): Promise<ToolOutcome> {
  const { arguments: args, call_key, progress, ask, run } = call;
  const onprogress = progress && createProgressReporter(progress);
  const { tool: name, resource_tool, needs_task, spec } = tool;
  const { parameters: schema } = spec;
  return connection.call(
    { tool: name, resource_tool, needs_task, arguments: args, schema, call_key, onprogress, task_id: run.task_id, ask },
    signal,
  );
}

/** Returns what the model receives of a failed call. Throws if the call may be repeated, or if a person has to decide that. */
function toOutcome(error: Error, { name }: PinnedMcpServer, effect: ToolEffect): ToolOutcome {
  const refusal = findOutsideRefusal(error);
  // Only a person can change that.
  if (refusal?.code === STATE_FULL) return failed(`${STATE_FULL}: ${truncate(error.message)}`);
  if (error instanceof ToolUnreachable || error instanceof ToolUncertain) throw error;
  if (isMcpSignInNeeded(error)) return failed(formatRefusal(error));
  // Another attempt would get the same answer.
  if (refusal)
    return failed(`${refusal.code}: The MCP server ${name} made the call, but its answer could not be read: ${refusal.message}`);
  if (error instanceof McpRefused) return failed(`The MCP server ${name} answered with an error: ${truncate(error.message)}`);
  if (error instanceof McpUnreadable)
    return failed(`The MCP server ${name} made the call, but its answer could not be read: ${truncate(error.message)}`);
  if (findOutage(error) || (error instanceof McpLost && !error.sent))
    throw new ToolUnreachable(`The MCP server ${name} is out of reach`, { cause: error });
  const is_silent = error instanceof McpSilent;
  const cause = is_silent
    ? `The MCP server ${name} did not answer the call in time, and was asked to cancel it`
    : `The MCP server ${name} was lost while the tool ran (${truncate(textWithReason(error))})`;
  if (effect === 'write') throw new ToolUncertain(cause, { cause: error });
  // What took too long would do so again.
  if (is_silent) return failed(cause);
  throw new ToolUnreachable(cause, { cause: error, reached: true });
}

const failed = (content: string): ToolOutcome => ({ content, failed: true });

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

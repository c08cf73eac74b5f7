import type { ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { Caller } from '../../../identity/caller.ts';
import { RawReply } from '../../http/mount.ts';
import { type CompatRun, type CompatServices, type CompatTask, hasEnded, startRun, waitForEnd } from '../runs.ts';
import { reportProgress } from './progress.ts';
import { describeRunTask, findOwnTask } from './run-tasks.ts';
import { formatRefusal, type RunResult, toErrorResult, toRunOrder, toRunResult } from './run-tools.ts';
import { listTools, toMcpTool } from './tools.ts';

/** The extension by which a call is answered with a task. */
const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';
const CAPABILITIES = { tools: {}, extensions: { [TASKS_EXTENSION]: {} } };

interface Message {
  method?: string | undefined;
  params?: unknown;
}

/** True if a message is of the version of the protocol without a handshake: it names its version itself. */
export function isStateless(body: Message | readonly Message[]): body is Message {
  if (Array.isArray(body)) return false;
  const { method, params } = body as Message;
  const { _meta } = Object(params) as { _meta?: unknown };
  return method === 'server/discover' || PROTOCOL_VERSION_META_KEY in Object(_meta);
}

interface Served {
  body: Message;
  caller: Caller;
  version: string;
  /** Aborted when the server stops. */
  closing: AbortSignal;
}

/** Answers a message of the version without a handshake. */
export function serveStateless(services: CompatServices, { body, ...served }: Served): RawReply {
  return new RawReply(async (request, response) => {
    const createServer = () => createStatelessServer(services, { ...served, response });
    // A call may take long, so its answer begins at once, with comments that keep the connection open.
    const responseMode = body.method === 'tools/call' ? 'sse' : 'auto';
    await toNodeHandler(createMcpHandler(createServer, { legacy: 'reject', responseMode }))(request, response, body);
  });
}

interface ServerOptions extends Omit<Served, 'body'> {
  response: ServerResponse;
}

function createStatelessServer(services: CompatServices, { caller, response, version, closing }: ServerOptions): Server {
  const server = new Server({ name: 'perdura', version }, { capabilities: CAPABILITIES });
  const find = async (task_id: string): Promise<CompatTask> => {
    const task = await findOwnTask(services, caller, task_id);
    if (!task) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `You have no task with id ${task_id}`);
    return task;
  };

  server.setRequestHandler('tools/list', async () => ({ tools: (await listTools(services, caller)).map(toMcpTool) }));
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: args } }, context): Promise<RunResult> => {
    const order = toRunOrder(services, { name, prompt: args?.prompt }, caller);
    const run = await order.then((it) => startRun(services, it, caller)).catch((error: Error) => error);
    if (run instanceof Error) return toErrorResult(formatRefusal(run));
    if (takesTasks(context)) return { ...describeTask(await find(run.task_id)), resultType: 'task', content: [] };
    return waitForResult(services, run, { context, response, closing });
  });
  server.setRequestHandler('tasks/get', { params: TaskParams }, async ({ taskId }) => {
    const task = await find(taskId);
    const { id: task_id, workflow_id } = task;
    const has_result = task.status === 'completed' || task.status === 'failed';
    return { ...describeTask(task), ...(has_result && { result: toRunResult({ task_id, workflow_id }, task) }) };
  });
  // Decisions about a run are made in Perdura, so that no task asks the client.
  server.setRequestHandler('tasks/update', { params: TaskParams }, async ({ taskId }) => {
    await find(taskId);
    return {};
  });
  server.setRequestHandler('tasks/cancel', { params: TaskParams }, async ({ taskId }) => {
    const task = await find(taskId);
    if (!hasEnded(task)) await services.dispatch.halt(task.id);
    return {};
  });
  return server;
}

const TaskParams = z.looseObject({ taskId: z.string() });

/** True if the client can be answered with a task. */
function takesTasks({ mcpReq: { envelope } }: ServerContext): boolean {
  const { [CLIENT_CAPABILITIES_META_KEY]: capabilities } = Object(envelope) as Record<
    string,
    { extensions?: object } | undefined
  >;
  return TASKS_EXTENSION in Object(capabilities?.extensions);
}

/** A run that failed has a result, as a tool that failed has. */
function describeTask(task: CompatTask) {
  const { status, ttl: ttlMs, pollInterval: pollIntervalMs, ...rest } = describeRunTask(task);
  return { ...rest, status: status === 'failed' ? ('completed' as const) : status, ttlMs, pollIntervalMs };
}

interface Waiting {
  context: ServerContext;
  response: ServerResponse;
  closing: AbortSignal;
}

/**
 * Waits for the run of a call. A client that closes the answer has cancelled the call. A server that stops ends its answers first,
 * and the runs continue.
 */
async function waitForResult(
  services: CompatServices,
  run: CompatRun,
  { context: { mcpReq }, response, closing }: Waiting,
): Promise<RunResult> {
  const { notify, _meta } = mcpReq;
  const signal = AbortSignal.any([mcpReq.signal, closing]);
  try {
    const progressToken = _meta?.progressToken;
    if (progressToken !== undefined)
      await reportProgress(services, run, { progressToken, response, signal, sendNotification: notify });
    return toRunResult(run, await waitForEnd(services, run, signal));
  } catch (error) {
    if (closing.aborted) throw new ProtocolError(ProtocolErrorCode.InternalError, describeStop(run));
    if (mcpReq.signal.aborted) await services.dispatch.halt(run.task_id);
    throw error;
  }
}

const describeStop = ({ task_id }: CompatRun) =>
  `The server is stopping. Run ${task_id} continues: connect again and read its result with GET /api/tasks/${task_id}`;

import type { ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  CancelledNotificationSchema,
  CancelTaskRequestSchema,
  ErrorCode,
  GetTaskPayloadRequestSchema,
  GetTaskRequestSchema,
  ListToolsRequestSchema,
  McpError,
  type ProgressToken,
  RELATED_TASK_META_KEY,
  type ServerNotification,
} from '@modelcontextprotocol/sdk/types.js';
import { v7 as uuid } from 'uuid';
import { compat } from '../../../contracts/compat.ts';
import { AppError } from '../../../domain/errors.ts';
import type { Caller } from '../../../identity/caller.ts';
import { type Api, mount, RawReply } from '../../http/mount.ts';
import { type CompatRun, type CompatServices, waitForEnd } from '../runs.ts';
import { createMcpCalls, type McpCallPlace } from './calls.ts';
import { reportProgress } from './progress.ts';
import { createRunTasks, describeRunTask } from './run-tasks.ts';
import { formatRefusal, toErrorResult, toRunOrder, toRunResult } from './run-tools.ts';
import { isStateless, serveStateless } from './stateless.ts';
import { listTools, toMcpTool } from './tools.ts';

/** The media types that the protocol requires a client to accept. */
const ANSWERS = ['application/json', 'text/event-stream'];
const SESSION = 'mcp-session-id';
/** The requests that wait for a run. */
const WAITING = ['tools/call', 'tasks/result', 'tasks/cancel', 'subscriptions/listen'];

/**
 * Serves the caller's workflows and the agents as tools, over streamable HTTP, in the versions of the protocol with a handshake and
 * without. A session is only an id that the client repeats; the server keeps no state for it, so any API process can serve any
 * request. The older versions are served with the older SDK, because the newer one does not know their tasks.
 */
export function mcpEndpointRoutes(api: Api, services: CompatServices, version: string): void {
  mount(api, compat.mcp, async ({ body, holdOpen }, caller) => {
    if (WAITING.some((method) => hasMethod(body, method))) holdOpen();
    if (isStateless(body)) return serveStateless(services, { body, caller, version, closing: api.closing });
    return new RawReply(async (request, response) => {
      const session_id = request.headers[SESSION] as string | undefined;
      const place = (request_id: string | number) => (session_id ? { session_id, request_id, caller } : null);
      const server = createServer(services, { caller, place, response }, version);
      const transport = new StreamableHTTPServerTransport();
      if (hasMethod(body, 'initialize')) response.setHeader(SESSION, uuid());
      response.once('close', () => void server.close());
      await server.connect(transport);
      await transport.handleRequest(request, response, body);
    });
  });
  api.http.addHook('preValidation', async ({ method, routeOptions: { url }, headers: { accept = '' } }) => {
    if (method === 'POST' && url === '/mcp' && !ANSWERS.every((type) => accept.includes(type)))
      throw new AppError('not_acceptable', `Send the header Accept: ${ANSWERS.join(', ')}`);
  });
  api.http.route({
    method: ['GET', 'DELETE'],
    url: '/mcp',
    handler: async (_request, reply) =>
      reply
        .code(405)
        .header('allow', 'POST')
        .send({ jsonrpc: '2.0', error: { code: -32000, message: 'Use POST' }, id: null }),
  });
}

const hasMethod = (body: { method?: string | undefined } | { method?: string | undefined }[], name: string) =>
  [body].flat().some(({ method }) => method === name);

interface Asker {
  caller: Caller;
  response: ServerResponse;
  place(request_id: string | number): McpCallPlace | null;
}

const CAPABILITIES = { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } };

function createServer(services: CompatServices, { caller, place, response }: Asker, version: string): Server {
  const calls = createMcpCalls(services);
  const tasks = createRunTasks(services, caller);
  const server = new Server({ name: 'perdura', version }, { capabilities: CAPABILITIES });

  const begin = async (name: string, prompt: unknown, requestId: string | number): Promise<CompatRun> =>
    calls.begin(place(requestId), await toRunOrder(services, { name, prompt }, caller), caller);

  async function waitForResult(run: CompatRun, waiting: Waiting): Promise<CallToolResult> {
    const progressToken = waiting._meta?.progressToken;
    if (progressToken !== undefined) await reportProgress(services, run, { ...waiting, progressToken, response });
    return toRunResult(run, await waitForEnd(services, run, waiting.signal));
  }

  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: (await listTools(services, caller)).map(toMcpTool) }));
  server.setNotificationHandler(CancelledNotificationSchema, async ({ params: { requestId } }) => {
    const cancelled = requestId === undefined ? null : place(requestId);
    if (cancelled) await calls.cancel(cancelled);
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args, task } }, waiting) => {
    const run = await begin(name, args?.prompt, waiting.requestId).catch((error: Error) => error);
    if (!task) return run instanceof Error ? toErrorResult(formatRefusal(run)) : waitForResult(run, waiting);
    if (run instanceof Error) throw new McpError(ErrorCode.InvalidParams, formatRefusal(run));
    return { task: describeRunTask(await tasks.find(run.task_id)) };
  });
  server.setRequestHandler(GetTaskRequestSchema, async ({ params: { taskId } }) => describeRunTask(await tasks.find(taskId)));
  server.setRequestHandler(GetTaskPayloadRequestSchema, async ({ params: { taskId } }, waiting) => {
    const { id: task_id, workflow_id } = await tasks.find(taskId);
    return { ...(await waitForResult({ task_id, workflow_id }, waiting)), _meta: { [RELATED_TASK_META_KEY]: { taskId } } };
  });
  server.setRequestHandler(CancelTaskRequestSchema, async ({ params: { taskId } }, { signal }) =>
    describeRunTask(await tasks.cancel(taskId, signal)),
  );
  return server;
}

interface Waiting {
  signal: AbortSignal;
  _meta?: { progressToken?: ProgressToken | undefined } | undefined;
  sendNotification(notification: ServerNotification): Promise<void>;
}

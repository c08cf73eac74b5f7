import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, CancelledNotificationSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { v7 as uuid } from 'uuid';
import { compat } from '../../../contracts/compat.ts';
import type { Caller } from '../../auth.ts';
import { type Api, mount, RawReply } from '../../mount.ts';
import { problemOf } from '../../problems.ts';
import { answerOf, type CompatRun, type CompatServices, ended, eventsOfRun, troubleOf } from '../runs.ts';
import { type McpCallPlace, mcpCalls } from './calls.ts';

const MOST_TOOLS = 1_000;
const NAME_CHARACTERS = 48;

const PROMPT_SCHEMA = {
  type: 'object' as const,
  properties: { prompt: { type: 'string', description: 'What the agent is to do' } },
  required: ['prompt'],
};

const SESSION = 'mcp-session-id';

/**
 * Serves each of the caller's workflows as a tool, over streamable HTTP. A session is only an id that the client repeats; the
 * server keeps no state for it, so any API process can serve any request.
 */
export function mcpEndpointRoutes(api: Api, services: CompatServices, version: string): void {
  mount(api, compat.mcp, async ({ body, holdOpen }, caller) => {
    if (asksFor(body, 'tools/call')) holdOpen();
    return new RawReply(async (request, response) => {
      const session_id = request.headers[SESSION] as string | undefined;
      const place = (request_id: string | number) => (session_id ? { session_id, request_id, caller } : null);
      const server = serverFor(services, { caller, place, response }, version);
      const transport = new StreamableHTTPServerTransport();
      if (asksFor(body, 'initialize')) response.setHeader(SESSION, uuid());
      response.once('close', () => void server.close());
      await server.connect(transport);
      await transport.handleRequest(request, response, body);
    });
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

const asksFor = (body: { method?: string | undefined } | { method?: string | undefined }[], name: string) =>
  [body].flat().some(({ method }) => method === name);

interface Asker {
  caller: Caller;
  response: ServerResponse;
  place(request_id: string | number): McpCallPlace | null;
}

function serverFor(services: CompatServices, { caller, place, response }: Asker, version: string): Server {
  const calls = mcpCalls(services);
  const server = new Server({ name: 'perdura', version }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: (await toolsOf(services, caller)).map(({ name, description }) => ({ name, description, inputSchema: PROMPT_SCHEMA })),
  }));
  server.setNotificationHandler(CancelledNotificationSchema, async ({ params: { requestId } }) => {
    const cancelled = requestId === undefined ? null : place(requestId);
    if (cancelled) await calls.cancel(cancelled);
  });
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params: { name, arguments: args, _meta } }, { signal, sendNotification, requestId }) => {
      const tool = (await toolsOf(services, caller)).find((candidate) => candidate.name === name);
      if (!tool) return failed(`There is no tool named ${name}; list the tools again`);
      const prompt = args?.prompt;
      if (typeof prompt !== 'string' || prompt.trim() === '') return failed('prompt must be a non-empty string');
      const order = { model: tool.id, prompt };
      const run = await calls.begin(place(requestId), order, caller).catch((error: Error) => error);
      if (run instanceof Error) return failed(refusalOf(run));
      const progressToken = _meta?.progressToken;
      if (progressToken !== undefined) {
        const send = async (progress: number, message: string) => {
          await sendNotification({ method: 'notifications/progress', params: { progressToken, progress, message } });
          await taken(response, signal);
        };
        await report(services, run, { send, signal });
      }
      const task = await ended(services, run, signal);
      const trouble = troubleOf(task);
      return trouble ? failed(trouble.message) : { content: [{ type: 'text' as const, text: answerOf(task) }] };
    },
  );
  return server;
}

/** Resolves when the client has taken nearly everything. The library itself never waits for a client. */
async function taken(response: ServerResponse, signal: AbortSignal): Promise<void> {
  // What was sent reaches the socket in a later turn.
  await turn();
  if (response.writableNeedDrain) await once(response, 'drain', { signal });
}

/** A client sees no status and no headers. */
function refusalOf(error: Error): string {
  const { detail, code, retry_after_s } = problemOf(error);
  return retry_after_s === undefined ? detail : `${detail} (${code}; try again in ${retry_after_s} s)`;
}

const failed = (text: string) => ({ content: [{ type: 'text' as const, text }], isError: true });

/** A tool's name is made of the workflow's title, and of its id so that names are unique. */
async function toolsOf({ store }: CompatServices, caller: Caller) {
  const { items } = await store.workflows.list({ limit: MOST_TOOLS, owner: caller.key, single_use: false });
  return items.map(({ id, title }) => {
    const words = (title ?? 'workflow')
      .normalize('NFKD')
      .replaceAll(/[^A-Za-z0-9]+/g, '_')
      .replaceAll(/^_+|_+$/g, '');
    const name = `${words.slice(0, NAME_CHARACTERS) || 'workflow'}_${id.slice(-8)}`;
    return { id, name, description: `Runs the workflow ${title ?? id} and returns its answer` };
  });
}

const PROGRESS_TEXTS: Record<string, (data: Record<string, unknown>) => string> = {
  model_call: () => 'Asking the model',
  tool_call: ({ name }) => `Calling ${name}`,
  progress: ({ detail }) => String(detail),
  approval_requested: ({ detail }) => String(detail),
};

interface Reporting {
  send(progress: number, message: string): Promise<void>;
  signal: AbortSignal;
}

/** Reports the progress of a run until it ends. */
async function report(services: CompatServices, run: CompatRun, { send, signal }: Reporting): Promise<void> {
  let progress = 0;
  for await (const { type, data } of eventsOfRun(services, run, signal)) {
    const text = type === 'log' ? PROGRESS_TEXTS[String(data.event)]?.(data) : undefined;
    if (text) await send(++progress, text).catch(() => {});
  }
}

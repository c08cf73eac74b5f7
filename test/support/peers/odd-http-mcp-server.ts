import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export interface McpMessage {
  id?: number;
  method: string;
  params?: { name?: string; protocolVersion?: string };
}

/** Answers a message in the server's own manner. Returns false to have it answered as usual. */
type Manner = (message: McpMessage, response: ServerResponse, request: IncomingMessage) => unknown;

const TOOL = { name: 'act', description: 'Acts', inputSchema: { type: 'object' } };

/** Sends a result or an error of the protocol. */
export const reply = (response: ServerResponse, id: number | undefined, body: object, status = 200): true => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
  return true;
};

/** Starts an MCP server over streamable HTTP with one tool, whose answers depend on `manner`. `openStream` answers a GET. */
export async function startOddHttpMcpServer(
  manner: Manner = () => false,
  openStream: (response: ServerResponse, request: IncomingMessage) => unknown = (response) => response.writeHead(405).end(),
) {
  const sessions = new Set<string>();
  /** The session of each call that was executed. */
  const acted: (string | undefined)[] = [];
  /** The sessions that clients have ended. */
  const ended: (string | undefined)[] = [];
  /** Answers a message as usual. */
  function answer({ id, method, params = {} }: McpMessage, response: ServerResponse, request: IncomingMessage): void {
    if (id === undefined) return void response.writeHead(202).end();
    if (method === 'initialize') {
      const fresh = randomUUID();
      sessions.add(fresh);
      response.setHeader('mcp-session-id', fresh);
    }
    if (method === 'tools/call') acted.push(request.headers['mcp-session-id'] as string | undefined);
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'odd', version: '1' },
      },
      'tools/list': { tools: [TOOL] },
      'tools/call': { content: [{ type: 'text', text: 'acted' }] },
    };
    reply(response, id, { result: results[method] ?? {} });
  }
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') return void openStream(response, request);
    if (request.method === 'DELETE') ended.push(request.headers['mcp-session-id'] as string | undefined);
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = (await json(request)) as McpMessage;
    if (!manner(message, response, request)) answer(message, response, request);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    answer,
    acted,
    ended,
    sessions,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

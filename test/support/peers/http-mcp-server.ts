import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { v7 as uuid } from 'uuid';

/** Starts an MCP server over streamable HTTP; each session has a separate server, with the tools that `register` gives it. */
export async function startHttpMcpServer(name: string, register: (mcp: McpServer) => void, port = 0) {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  async function opened(): Promise<StreamableHTTPServerTransport> {
    const mcp = new McpServer({ name, version: '1' });
    register(mcp);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: uuid,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await mcp.connect(transport as never);
    return transport;
  }
  const server = createServer(async (request, response) => {
    const known = sessions.get(String(request.headers['mcp-session-id']));
    await (known ?? (await opened())).handleRequest(request, response);
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    /** Forgets all sessions, as a restart does. */
    forget: () => sessions.clear(),
    /** Breaks every connection, in the middle of calls too. */
    cut: () => server.closeAllConnections(),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

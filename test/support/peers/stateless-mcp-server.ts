import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';

interface StatelessOptions {
  /** True if the server also answers clients with a handshake. */
  speaks_both?: boolean;
  capabilities?: object;
}

/** Starts an MCP server of the SDK's second generation over HTTP, with the tools that `register` gives it. */
export async function startStatelessMcpServer(
  register: (mcp: McpServer) => void,
  { speaks_both = false, capabilities = {} }: StatelessOptions = {},
) {
  /** The headers of each request. */
  const requests: IncomingMessage['headers'][] = [];
  const handler = createMcpHandler(
    () => {
      const mcp = new McpServer({ name: 'stateless', version: '1' }, { capabilities });
      register(mcp);
      return mcp;
    },
    { legacy: speaks_both ? 'stateless' : 'reject' },
  );
  const answer = toNodeHandler(handler);
  const server = createServer((request, response) => {
    requests.push(request.headers);
    void answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    async stop() {
      await handler.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

// An agent that answers from a library it reaches over MCP. The library here is a small HTTP server in this file.
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { api, ensure, provider, report, run } from './perdura.mjs';

const PAPERS = {
  sagas: 'Garcia-Molina and Salem, 1987: long transactions as a sequence of steps, each with a compensation.',
  snapshots: 'Chandy and Lamport, 1985: a consistent global state without stopping the system.',
};

function library() {
  const server = new McpServer({ name: 'library', version: '1.0.0' });
  const read = { readOnlyHint: true };
  server.registerTool(
    'search_papers',
    { description: 'Finds papers by a word', inputSchema: { word: z.string() }, annotations: read },
    ({ word }) => ({ content: [{ type: 'text', text: found(word) }] }),
  );
  return server;
}

const found = (word) =>
  Object.entries(PAPERS)
    .filter(([name, text]) => `${name} ${text}`.toLowerCase().includes(word.toLowerCase()))
    .map(([, text]) => text)
    .join('\n') || 'Nothing found.';

const http = createServer(async (request, response) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  const server = library();
  response.on('close', () => server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
});
await new Promise((done) => http.listen(0, '127.0.0.1', done));

try {
  const connection_config = { url: `http://127.0.0.1:${http.address().port}/mcp` };
  const mcp = await ensure('/api/mcps', { name: 'example library', transport_type: 'http', connection_config });
  const agent = await ensure('/api/agents', {
    name: 'researcher (example)',
    system_prompt: 'Search the library before you answer, and cite what you found.',
    provider_id: (await provider()).id,
    mcp_server_ids: [mcp.id],
  });
  const workflow = await api('POST', '/api/workflows', { agent_id: agent.id, title: 'Research', output_format: 'markdown' });
  report(await run(workflow.id, 'Use search_papers with "snapshot" and tell me who wrote about it.'));
} finally {
  http.close();
  http.closeAllConnections();
}

// An MCP server of the official SDK over stdio: its one tool waits until it is cancelled, and records the cancellation.
import { appendFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const [, , record] = process.argv;
const server = new McpServer({ name: 'waits', version: '1' });
server.registerTool('wait', { description: 'Waits until it is cancelled' }, async ({ signal }) => {
  appendFileSync(record, 'begun\n');
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  appendFileSync(record, `cancelled: ${signal.reason}\n`);
  return { content: [{ type: 'text', text: 'stopped' }] };
});
await server.connect(new StdioServerTransport());

import { appendFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

// An MCP server over stdio. Its tools record their start and end in the file given as argument.
const [, , file = ''] = process.argv;
const inputSchema = { type: 'object' as const, properties: { n: { type: 'integer' } }, required: ['n'] };
const tools = [
  { name: 'mcp_read', inputSchema, annotations: { readOnlyHint: true } },
  { name: 'mcp_write', inputSchema },
];

const server = new Server({ name: 'counting', version: '1.0.0' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args, _meta } }) => {
  const note = (phase: string) =>
    appendFileSync(file, `${_meta?.['perdura/call_key']} ${name} ${phase} ${process.pid} ${Date.now() / 1_000}\n`);
  note('begin');
  await wait(100 + (Number(args?.n) % 7) * 250);
  note('end');
  return { content: [{ type: 'text', text: 'counted' }] };
});
await server.connect(new StdioServerTransport());

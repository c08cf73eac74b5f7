// An MCP server of the official SDK over stdio that keeps what it receives in files of its home and its working directory.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const read = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return error.code;
  }
};
const answer = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
const server = new McpServer({ name: 'keeps', version: '1' });
server.registerTool('keep', { inputSchema: { word: z.string() } }, async ({ word }) => {
  const kept = read('kept.txt');
  appendFileSync('kept.txt', word);
  writeFileSync(join(homedir(), '.private'), word, { mode: 0o600 });
  return answer(kept === 'ENOENT' ? '' : kept);
});
server.registerTool('look', { inputSchema: { path: z.string() } }, async ({ path }) => answer(read(path)));
server.registerTool('where', {}, async () => {
  const { PERDURA_STATE, HOME, XDG_DATA_HOME, TMPDIR } = process.env;
  return answer({ PERDURA_STATE, HOME, XDG_DATA_HOME, TMPDIR, cwd: process.cwd() });
});
server.registerTool('fill', { inputSchema: { mb: z.number() } }, async ({ mb }) => {
  writeFileSync('large', Buffer.alloc(mb * 1024 ** 2, 1));
  await new Promise(() => {});
});
await server.connect(new StdioServerTransport());

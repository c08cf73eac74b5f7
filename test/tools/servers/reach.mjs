#!/usr/bin/env node
// An MCP server without dependencies. Its one tool reports which of its arguments it has, and what it can reach and write.
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const tried = (work) =>
  Promise.resolve()
    .then(work)
    .then(
      () => 'done',
      () => 'failed',
    );

const REPLIES = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'reach', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'reach', inputSchema: { type: 'object' } }] }),
  'tools/call': async ({ arguments: { url } }) => {
    const fetched = await tried(() => fetch(url));
    const written = await tried(() => writeFileSync(`${import.meta.dirname}/written`, ''));
    const proxy = 'HTTP_PROXY' in process.env;
    return { content: [{ type: 'text', text: JSON.stringify({ args: process.argv.slice(2), proxy, fetched, written }) }] };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const reply = await REPLIES[method]?.(params);
  if (reply) process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: reply })}\n`);
}

// An MCP server that answers with what no client should swallow: over stdio as its first argument says, over HTTP by its path.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

const MIB = 1024 * 1024;
const schema = { type: 'object', properties: {} };
const tool = (name, more = {}) => ({
  name,
  description: name,
  inputSchema: schema,
  annotations: { readOnlyHint: true },
  ...more,
});
const deep = (levels) => '['.repeat(levels) + ']'.repeat(levels);

const listings = {
  'many-tools': () => JSON.stringify({ tools: Array.from({ length: 50_000 }, (_, index) => tool(`t${index}`)) }),
  'long-names': () => JSON.stringify({ tools: [tool('x'.repeat(3 * MIB)), tool('look'), tool('lo\0ok')] }),
  'deep-schema': () =>
    `{"tools":[${JSON.stringify(tool('look'))},{"name":"deep","inputSchema":{"type":"object","x":${deep(5_000)}}}]}`,
  'no-tools': () => '{"tools":7}',
};
const answers = {
  'long-answer': () => null,
  'deep-answer': () => `{"content":[],"structuredContent":{"a":${deep(5_000)}}}`,
  'odd-answer': () =>
    JSON.stringify({ content: [null, 7, { type: 'text', text: { a: 1 } }, { type: 'text', text: 'a\0b\uD83D' }] }),
  'many-parts': () => JSON.stringify({ content: Array.from({ length: 100_000 }, () => ({ type: 'text', text: 'x' })) }),
};

/** The result of a request as JSON; null where it is a text without end. */
function resultOf(manner, { method, params = {} }) {
  const serverInfo = { name: 'poison', version: '1' };
  if (method === 'initialize')
    return JSON.stringify({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
  if (method === 'tools/list') return listings[manner]?.() ?? JSON.stringify({ tools: [tool('look')] });
  if (method === 'tools/call') return answers[manner] ? answers[manner]() : '{"content":[]}';
  return '{}';
}

async function pour(stream, piece, times) {
  const gone = once(stream, 'close').catch(() => {});
  for (let sent = 0; sent < times && !stream.destroyed; sent += 1)
    if (!stream.write(piece)) await Promise.race([once(stream, 'drain'), gone]);
}

async function answer(manner, request, out) {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(request.id)},`;
  if (manner === 'long-error' && request.method === 'tools/call')
    return out.write(`${head}"error":{"code":-32000,"message":"${'x'.repeat(5 * MIB)}"}}`);
  const result = resultOf(manner, request);
  if (result !== null) return out.write(`${head}"result":${result}}`);
  out.write(`${head}"result":{"content":[{"type":"text","text":"`);
  await pour(out, 'x'.repeat(MIB), 300);
  out.write('"}]}}');
}

/** Over HTTP; `/sse/…` answers with event streams. */
export async function startPoisonServer() {
  const server = createServer(async (request, response) => {
    const [, way, manner] = request.url.split('/');
    if (request.method !== 'POST') return response.writeHead(405).end();
    const message = JSON.parse(await text(request));
    if (message.id === undefined) return response.writeHead(202).end();
    response.on('error', () => {});
    const streams = way === 'sse';
    response.writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' });
    if (streams) response.write('data: ');
    await answer(manner, message, response);
    response.end(streams ? '\n\n' : '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const [, , manner] = process.argv;
if (import.meta.filename === process.argv[1] && manner) {
  process.stdout.on('error', () => {});
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    if (request.id === undefined) continue;
    await answer(manner, request, process.stdout);
    process.stdout.write('\n');
  }
}

import { randomUUID } from 'node:crypto';
import { type McpServer as OlderServer, ResourceTemplate as OlderTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { acceptedContent, inputRequired, type McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { PinnedMcpServer } from '../../src/domain/definition.ts';
import { discover } from '../../src/tools/mcp/discover.ts';
import { createMcpTools } from '../../src/tools/mcp/tools.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';
import { reply, startOddHttpMcpServer } from '../support/peers/odd-http-mcp-server.ts';
import { startStatelessMcpServer } from '../support/peers/stateless-mcp-server.ts';
import { callOf, openHttpBench, openToken, serverOf } from '../tools/support.ts';

const bench = openHttpBench();
afterAll(() => bench.close());
const stops: (() => Promise<unknown>)[] = [];
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

const never = () => new AbortController().signal;
const overHttp = (url: string, values: Partial<PinnedMcpServer> = {}) =>
  serverOf({ id: randomUUID(), name: 'docs', transport_type: 'http', connection_config: { url }, ...values });
const found = (server: PinnedMcpServer) =>
  discover([server], { ...bench.ports, openToken, principal: 'local:alice', listed: new Set() }, never());
async function opened(server: PinnedMcpServer) {
  const { tools, notes } = await found(server);
  const box = createMcpTools(bench.ports, server, tools);
  const call = (name: string, args: object, more = {}) => box.call(callOf(name, args, more), never());
  return { tools, notes, call };
}

const PNG = Buffer.from('\x89PNG\r\n\x1a\n....', 'latin1').toString('base64');
const NOTES = { title: 'Notes', description: 'All of them', mimeType: 'text/markdown' };
const read = (uri: URL) =>
  uri.href.endsWith('picture')
    ? { contents: [{ uri: uri.href, mimeType: 'image/png', blob: PNG }] }
    : { contents: [{ uri: uri.href, mimeType: 'text/markdown', text: `# ${uri.href}` }] };

/** Servers of both generations of the SDK, with the same resources. */
const SERVERS: Record<string, () => Promise<{ url: string; stop(): Promise<unknown> }>> = {
  'with a handshake': () =>
    startHttpMcpServer('docs', (mcp: OlderServer) => {
      mcp.registerResource('notes', 'docs://notes', NOTES, read);
      mcp.registerResource('picture', 'docs://picture', {}, read);
      mcp.registerResource('page', new OlderTemplate('docs://pages/{id}', { list: undefined }), { title: 'A page' }, read);
    }),
  'without a handshake': () =>
    startStatelessMcpServer((mcp: McpServer) => {
      mcp.registerResource('notes', 'docs://notes', NOTES, read);
      mcp.registerResource('picture', 'docs://picture', {}, read);
      mcp.registerResource('page', new ResourceTemplate('docs://pages/{id}', { list: undefined }), { title: 'A page' }, read);
    }),
};

describe.each(Object.entries(SERVERS))('the resources of a server %s', (_what, start) => {
  async function started(values: Partial<PinnedMcpServer> = {}) {
    const { url, stop } = await start();
    stops.push(stop);
    return opened(overHttp(url, values));
  }

  it('are described to the model, which reads them by a tool', async () => {
    const { tools, call } = await started();
    expect(tools).toMatchObject([
      { tool: 'read_resource', resource_tool: 'read_resource', spec: { name: 'read_resource', effect: 'read' } },
    ]);
    expect(tools[0]?.spec.description).toBe(
      'Reads a resource of the MCP server docs by its address. Resources:\ndocs://notes (Notes; All of them; text/markdown)\ndocs://picture (picture)\ndocs://pages/{id} (A page)',
    );
    expect(await call('read_resource', { uri: 'docs://notes' })).toEqual({
      content: '[resource docs://notes, text/markdown]\n# docs://notes',
      failed: false,
    });
    expect(await call('read_resource', { uri: 'docs://pages/7' })).toMatchObject({
      content: expect.stringContaining('# docs://pages/7'),
    });
    expect(await call('read_resource', { uri: 'docs://picture' })).toMatchObject({
      files: [{ name: 'picture', media_type: 'image/png' }],
    });
    expect(await call('read_resource', { uri: 'docs://none' })).toMatchObject({
      failed: true,
      content: expect.stringContaining('docs://none'),
    });
  });

  it('are not offered if other tools alone are allowed', async () => {
    expect((await started({ allowed_tools: ['other'] })).tools).toEqual([]);
    expect((await started({ allowed_tools: ['read_resource'] })).tools).toHaveLength(1);
  });
});

describe('a server with resources', () => {
  const UNKNOWN = { code: -32601, message: 'unknown' };
  type Results = Record<string, (params: { cursor?: string }, count: number) => object>;
  /** A server with a handshake whose lists have these answers; none: it does not know the method. */
  async function startScripted(results: Results, known: object = { tools: {}, resources: {} }) {
    const asked: string[] = [];
    const peer = await startOddHttpMcpServer(({ id, method, params = {} }, response) => {
      asked.push(method);
      if (method === 'server/discover') return reply(response, id, { error: UNKNOWN });
      if (method === 'initialize')
        return reply(response, id, {
          result: { protocolVersion: params.protocolVersion, capabilities: known, serverInfo: { name: 'x', version: '1' } },
        });
      const count = asked.filter((one) => one === method).length;
      const result = results[method]?.(params as { cursor?: string }, count);
      if (result && 'error' in result) return reply(response, id, result);
      if (result && 'status' in result) return response.writeHead(result.status as number).end();
      if (result && 'notification' in result) {
        const messages = [{ method: result.notification }, { id, result: (result as { result?: object }).result }];
        const lines = messages.map((message) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
        return response.writeHead(200, { 'content-type': 'text/event-stream' }).end(lines.join(''));
      }
      if (result) return reply(response, id, { result });
      return method.startsWith('resources/') && reply(response, id, { error: UNKNOWN });
    });
    stops.push(peer.stop);
    return { server: overHttp(peer.url), asked };
  }
  const scripted = async (results: Results) => opened((await startScripted(results)).server);
  const namesOf = async (server: PinnedMcpServer) => (await found(server)).tools.map(({ tool }) => tool);
  const announcing = { tools: { listChanged: true }, resources: { listChanged: true } };
  const one = { resources: [{ uri: 'docs://one' }] };

  it('that has more than fit has them listed page by page', async () => {
    const resources = Array.from({ length: 100 }, (_, index) => ({ uri: `docs://${index}`, name: 'n'.repeat(100) }));
    const { tools, call } = await scripted({
      'resources/list': ({ cursor }) =>
        cursor === 'b' ? { resources: [{ uri: 'docs://last', name: 'The\nlast' }] } : { resources, nextCursor: 'b' },
    });
    expect(tools.map(({ tool }) => tool)).toEqual(['act', 'read_resource', 'list_resources']);
    expect(tools[1]?.spec.description.length).toBeLessThan(4_200);
    expect((await call('list_resources', {})).content.split('\n').slice(-2)).toEqual([
      `docs://99 (${'n'.repeat(100)})`,
      '[more: cursor "b"]',
    ]);
    expect(await call('list_resources', { cursor: 'b' })).toEqual({ content: 'docs://last (The last)', failed: false });
  });

  it('in name only has no tool for them', async () => {
    const { tools, notes } = await scripted({ 'resources/list': () => ({ resources: [] }) });
    expect(tools.map(({ tool }) => tool)).toEqual(['act']);
    expect(notes.map(({ event }) => event)).toEqual(['mcp_connected']);
  });

  it('that cannot list them keeps its tools, and the log has the reason', async () => {
    const { tools, notes } = await scripted({});
    expect(tools.map(({ tool }) => tool)).toEqual(['act']);
    expect(notes).toContainEqual(
      expect.objectContaining({ event: 'mcp_error', detail: 'docs: Its resources cannot be listed: unknown' }),
    );
  });

  it.each([{ error: { code: -32603, message: 'Busy' } }, { status: 502 }, { status: 404 }])(
    'that cannot list them for a moment (%o) keeps its tools, and has the others when it is asked again',
    async (refusal) => {
      const { server } = await startScripted({ 'resources/list': (_params, count) => (count === 1 ? refusal : one) }, announcing);
      expect(await namesOf(server)).toEqual(['act']);
      expect(await namesOf(server)).toEqual(['act', 'read_resource']);
    },
  );

  it('and no tools that has lost its session is asked in a new one', async () => {
    const lost = (_params: object, count: number) => (count === 2 ? { status: 404 } : one);
    const { server, asked } = await startScripted({ 'resources/list': lost }, { resources: {} });
    expect(await namesOf(server)).toEqual(['read_resource']);
    expect(await namesOf(server)).toEqual(['read_resource']);
    expect(asked.filter((method) => method === 'initialize')).toHaveLength(2);
  });

  it('that announces a change of them is asked again; until then, its list is kept', async () => {
    const listed = (_params: object, count: number) => ({ resources: count === 1 ? [] : one.resources });
    const { server, asked } = await startScripted(
      {
        'resources/list': listed,
        'tools/call': () => ({ notification: 'notifications/resources/list_changed', result: { content: [] } }),
      },
      announcing,
    );
    const { call } = await opened(server);
    expect(await namesOf(server)).toEqual(['act']);
    expect(asked.filter((method) => method === 'resources/list')).toHaveLength(1);
    await call('act', {});
    expect(await namesOf(server)).toEqual(['act', 'read_resource']);
  });

  it('that announces a change while it lists them is asked again', async () => {
    const { server } = await startScripted(
      {
        'resources/list': (_params, count) =>
          count === 1 ? { notification: 'notifications/resources/list_changed', result: { resources: [] } } : one,
      },
      announcing,
    );
    expect(await namesOf(server)).toEqual(['act']);
    expect(await namesOf(server)).toEqual(['act', 'read_resource']);
  });

  it('that announces changes only of its tools is asked for them each time', async () => {
    const { server } = await startScripted(
      { 'resources/list': (_params, count) => (count === 1 ? { resources: [] } : one) },
      { tools: { listChanged: true }, resources: {} },
    );
    expect(await namesOf(server)).toEqual(['act']);
    expect(await namesOf(server)).toEqual(['act', 'read_resource']);
  });

  it('keeps its own tool if that has such a name', async () => {
    const { tools } = await scripted({
      'resources/list': () => ({ resources: [{ uri: 'docs://one' }, 7, { name: 'no address' }] }),
      'tools/list': () => ({ tools: [{ name: 'read_resource', description: 'Its own', inputSchema: { type: 'object' } }] }),
    });
    expect(tools).toMatchObject([{ tool: 'read_resource', spec: { description: 'Its own' } }]);
    expect(tools[0]).not.toHaveProperty('resource_tool');
  });
});

it('a person is asked what a server needs to know for a resource', async () => {
  const form = { type: 'object' as const, properties: { page: { type: 'string' as const } } };
  const peer = await startStatelessMcpServer((mcp) =>
    mcp.registerResource('page', new ResourceTemplate('docs://{id}', { list: undefined }), {}, (uri, _values, { mcpReq }) => {
      const answer = acceptedContent<{ page: string }>(mcpReq.inputResponses, 'which');
      if (!answer)
        return inputRequired({
          inputRequests: { which: inputRequired.elicit({ message: 'Which page?', requestedSchema: form }) },
        });
      return { contents: [{ uri: uri.href, text: answer.page }] };
    }),
  );
  stops.push(peer.stop);
  const { call } = await opened(overHttp(peer.url));
  const ask = async () => ({ action: 'accept' as const, content: { page: 'seven' } });
  expect(await call('read_resource', { uri: 'docs://x' }, { ask })).toMatchObject({ content: '[resource docs://x]\nseven' });
});

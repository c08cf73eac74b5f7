import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { McpConnection } from '../../src/tools/mcp/connection.ts';
import { probeMcp, withMcpServer } from '../../src/tools/mcp/probe.ts';
import { listPrompts } from '../../src/tools/mcp/prompts.ts';
import { startOddHttpMcpServer } from '../support/peers/odd-http-mcp-server.ts';
import { openToken, serverOf } from '../tools/support.ts';

/** Lists the prompts of a server that answers with these pages. */
async function listed(...pages: unknown[][]) {
  let page = 0;
  const request = async () => {
    page += 1;
    return { prompts: pages[page - 1], ...(page < pages.length && { nextCursor: String(page) }) };
  };
  return listPrompts({ request } as unknown as McpConnection, new AbortController().signal);
}

it('prompts and arguments with long names are left out, without the others', async () => {
  const [longest, longer] = [256, 257].map((length) => 'n'.repeat(length)) as [string, string];
  const args = [{ name: longest }, { name: longer }, { name: 'a\u0000b' }, { name: 'last', required: true }];
  const prompts = await listed([{ name: longer }, { name: longest, arguments: args }, { name: 'short' }]);
  expect(prompts.map(({ name }) => name)).toEqual([longest, 'short']);
  expect(prompts[0]?.arguments.map(({ name }) => name)).toEqual([longest, 'last']);
});

it('of a page, no more prompts are read than are listed', async () => {
  let reads = 0;
  const page = Array.from({ length: 700 }, (_, index) => ({
    get name() {
      reads += 1;
      return `p${index}`;
    },
  }));
  const prompts = await listed(page.slice(0, 400), page);
  expect(prompts).toHaveLength(500);
  const reads_of_500 = reads;
  await listed(page.slice(0, 500));
  expect(reads).toBe(2 * reads_of_500);
});

it('a server that is too slow for a person is named, with the time that it had', async () => {
  const peer = await startOddHttpMcpServer(({ method }) => method === 'tools/list');
  const server = serverOf({ id: randomUUID(), name: 'slow', transport_type: 'http', connection_config: { url: peer.url } });
  const schemaFaults = async (schemas: readonly unknown[]) => schemas.map(() => null);
  const ports = { startConfined: null, schemaFaults, version: 'test', openToken, patience_ms: 10 };
  const sentence = 'The MCP server slow did not answer within 0.01 s; try again';
  expect(await probeMcp(server, ports)).toMatchObject({ success: false, error: sentence });
  const work = (_connection: McpConnection, signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  await expect(withMcpServer(server, ports, work)).rejects.toThrow(sentence);
  await peer.stop();
});

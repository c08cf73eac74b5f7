import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';
import { startStatelessMcpServer } from '../support/peers/stateless-mcp-server.ts';

let here: TestInstallation;
const stops: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(async () => {
  await here.stop();
  await Promise.all(stops.map((stop) => stop()));
});

const user = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } });
const ARGUMENTS = { language: z.string().describe('Of the code'), tone: z.string().optional() };
const review = ({ language, tone = 'kind' }: { language: string; tone?: string | undefined }) => ({
  messages: [
    user(`Review my ${language}.`),
    { role: 'assistant' as const, content: { type: 'text' as const, text: 'Gladly.' } },
    user(`Be ${tone}.`),
  ],
});
const SERVERS = {
  'with a handshake': () =>
    startHttpMcpServer('prompts', (mcp) => {
      mcp.registerPrompt('review', { title: 'Review', description: 'Reviews code', argsSchema: ARGUMENTS }, review);
    }),
  'without a handshake': () =>
    startStatelessMcpServer((mcp) => {
      mcp.registerPrompt('review', { title: 'Review', description: 'Reviews code', argsSchema: z.object(ARGUMENTS) }, review);
    }),
  'without prompts': () => startStatelessMcpServer((mcp) => void mcp.registerTool('act', {}, () => ({ content: [] }))),
};

async function stored(kind: keyof typeof SERVERS): Promise<string> {
  const { url, stop } = await SERVERS[kind]();
  stops.push(stop);
  const server = { name: `prompts ${kind}`, transport_type: 'http', connection_config: { url } };
  return (await here.alice.ok(here.alice.post('/api/mcps', server))).id;
}
const fill = (id: string, body: object, client = here.alice) => client.post(`/api/mcps/${id}/prompts/fill`, body);

it.each(['with a handshake', 'without a handshake'] as const)(
  'the prompts of a server %s are listed and filled in',
  async (kind) => {
    const id = await stored(kind);
    expect(await here.alice.ok(here.alice.post(`/api/mcps/${id}/prompts`))).toEqual({
      prompts: [
        {
          ...{ name: 'review', title: 'Review', description: 'Reviews code' },
          arguments: [
            { name: 'language', description: 'Of the code', required: true },
            { name: 'tone', description: '', required: false },
          ],
        },
      ],
    });
    const body = { name: 'review', arguments: { language: 'C' } };
    expect(await here.bob.ok(fill(id, body, here.bob))).toEqual({ text: 'Review my C.\n\nAssistant: Gladly.\n\nBe kind.' });
    const refusal = {
      status: 422,
      body: { code: 'mcp_refused', detail: expect.stringMatching(/^The MCP server prompts .* answered with an error: /) },
    };
    expect(await fill(id, { name: 'review' })).toMatchObject(refusal);
    expect(await fill(id, { name: 'none' })).toMatchObject(refusal);
  },
);

it('a server without prompts has an empty list', async () => {
  const id = await stored('without prompts');
  expect(await here.alice.ok(here.alice.post(`/api/mcps/${id}/prompts`))).toEqual({ prompts: [] });
  expect(await fill(id, { name: 'review' })).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining('it has no prompts') },
  });
});

it('a server that cannot be reached is reported', async () => {
  const server = { name: 'gone', transport_type: 'http', connection_config: { url: 'http://127.0.0.1:1/mcp' } };
  const { id } = await here.alice.ok(here.alice.post('/api/mcps', server));
  const problem = {
    status: 502,
    body: { code: 'mcp_unavailable', detail: expect.stringContaining('The MCP server gone cannot be reached') },
  };
  expect(await here.alice.post(`/api/mcps/${id}/prompts`)).toMatchObject(problem);
  expect(await fill(id, { name: 'review' })).toMatchObject(problem);
});

// An MCP server of the official SDK over stdio whose tools ask a person. It appends each call to the file that is named as its argument.
import { appendFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';

const [, , record] = process.argv;
const PATIENCE = { timeout: 10 * 60_000 };
const mcp = new McpServer({ name: 'asks', version: '1' });
const text = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

const FORM = {
  type: 'object',
  properties: {
    email: { type: 'string', format: 'email', title: 'Email', description: 'Where the ticket goes' },
    seats: { type: 'integer', minimum: 1, maximum: 9, default: 2 },
    price: { type: 'number' },
    window: { type: 'boolean' },
    class: { type: 'string', enum: ['eco', 'first'], enumNames: ['Economy', 'First'] },
    extras: { type: 'array', items: { type: 'string', enum: ['meal', 'bag'] } },
  },
  required: ['email', 'seats'],
};

const book = async () => {
  appendFileSync(record, 'called\n');
  return text(await mcp.server.elicitInput({ message: 'Who travels?', requestedSchema: FORM }, PATIENCE));
};
mcp.registerTool('book', { description: 'Books a journey' }, book);
mcp.registerTool('look', { description: 'Looks for journeys', annotations: { idempotentHint: true } }, book);
mcp.registerTool('impatient', { description: 'Withdraws its question after a second' }, async () =>
  text(await mcp.server.elicitInput({ message: 'Quick?', requestedSchema: FORM }, { timeout: 1_000 }).catch(() => 'withdrawn')),
);
mcp.registerTool('long', { description: 'Asks with too long a message' }, async () =>
  text(
    await mcp.server.elicitInput({ message: 'x'.repeat(4_001), requestedSchema: FORM }, PATIENCE).catch(({ message }) => message),
  ),
);
const AT_URL = { mode: 'url', message: 'Sign in', elicitationId: '1', url: 'https://example.com' };
mcp.registerTool('visit', { description: 'Asks at a URL, although the client does not offer that' }, async (extra) =>
  text(
    await extra.sendRequest({ method: 'elicitation/create', params: AT_URL }, ElicitResultSchema).catch(({ message }) => message),
  ),
);
mcp.registerTool('garbled', { description: 'Asks with characters that cannot be stored' }, async () => {
  const properties = { 'a\u0000': { type: 'string', title: 'half \ud83d' } };
  const question = { message: 'Who\u0000?', requestedSchema: { type: 'object', properties } };
  return text(await mcp.server.elicitInput(question, PATIENCE).catch(({ message }) => message));
});
mcp.registerTool('flood', { description: 'Asks many questions at once, and ends when one of them is refused' }, async () => {
  const refused = Promise.withResolvers();
  for (let count = 0; count <= 20; count += 1)
    mcp.server.elicitInput({ message: `Question ${count}?`, requestedSchema: FORM }, PATIENCE).catch(refused.resolve);
  return text((await refused.promise).message);
});
mcp.registerTool('wizard', { description: 'Asks twice, the second time for less' }, async () => {
  const first = await mcp.server.elicitInput({ message: 'Who travels?', requestedSchema: FORM }, PATIENCE);
  const confirm = { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] };
  const second = await mcp.server.elicitInput({ message: 'Sure?', requestedSchema: confirm }, PATIENCE);
  return text([first.action, second]);
});
await mcp.connect(new StdioServerTransport());

// An MCP server of the SDK's second generation over stdio. Its argument names its manner: `only` the version without a handshake,
// `both`, or `late`: only that version, and it starts slowly.
import { setTimeout as wait } from 'node:timers/promises';
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const [, , manner] = process.argv;
const FORM = { type: 'object', properties: { email: { type: 'string', format: 'email' } }, required: ['email'] };

if (manner === 'late') await wait(700);
serveStdio(
  ({ era }) => {
    const mcp = new McpServer({ name: 'stateless', version: '1' });
    mcp.registerTool('era', { description: 'Says what is spoken', annotations: { readOnlyHint: true } }, () => ({
      content: [{ type: 'text', text: era }],
    }));
    mcp.registerTool('book', { description: 'Books a journey' }, ({ mcpReq }) => {
      const answer = acceptedContent(mcpReq.inputResponses, 'who');
      if (!answer)
        return inputRequired({
          inputRequests: { who: inputRequired.elicit({ message: 'Who travels?', requestedSchema: FORM }) },
        });
      return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
    });
    return mcp;
  },
  { legacy: manner === 'both' ? 'serve' : 'reject' },
);

// An MCP server over stdio that behaves as its first argument says.
import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';

const [, , manner = ''] = process.argv;
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const schema = { type: 'object', properties: {} };
const tool = (name, more = {}) => ({ name, description: `Tool ${name}${process.argv[3] ?? ''}`, inputSchema: schema, ...more });
/** A small schema whose definition a validator writes out at each of its references, which takes seconds. */
const dear = {
  type: 'object',
  allOf: Array.from({ length: 400 }, () => ({ $ref: '#/$defs/d' })),
  $defs: {
    d: { allOf: Array.from({ length: 400 }, (_, index) => ({ anyOf: [{ minLength: index }, { required: [`f${index}`] }] })) },
  },
};
/** A secret's own text is redacted in the answer; its digest still shows which one it was. */
const digested = (secret) => (manner === 'digests' ? { sha256: createHash('sha256').update(secret).digest('hex') } : {});
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
let calls = 0;
const remembered = [];

/** The tools of a server that gets their names as an argument. */
const named = manner.startsWith('named:') ? manner.slice('named:'.length).split(',') : null;

const lists = {
  pages: ({ cursor }) => ({
    tools: [tool(`page${cursor ?? 0}`)],
    ...(Number(cursor ?? 0) < 4 ? { nextCursor: String(Number(cursor ?? 0) + 1) } : {}),
  }),
  endless: ({ cursor }) => ({ tools: [tool('again')], nextCursor: `${Number(cursor ?? 0) + 1}` }),
  schemas: () => ({
    tools: [
      tool('good'),
      tool('no_schema', { inputSchema: undefined }),
      tool('bad_schema', { inputSchema: { type: 'object', properties: { a: { type: 'nonsense' } } } }),
      tool('a string', { inputSchema: { type: 'string' } }),
      { inputSchema: schema },
      null,
      tool('näme with/odd letters'),
    ],
  }),
  dies: () => ({ tools: [tool('die', { annotations: { readOnlyHint: true } })] }),
  dear: () => ({ tools: [tool('dear', { inputSchema: dear }), tool('good')] }),
  changes: () => ({ tools: [tool(calls === 0 ? 'before' : 'after'), tool('change', { annotations: { idempotentHint: true } })] }),
};

const acts = {
  die: () => process.exit(3),
  big: () => ({ content: [{ type: 'text', text: 'x'.repeat(10 * 1024 * 1024) }] }),
  key: ({ _meta }) => ({
    content: [
      {
        type: 'text',
        text: JSON.stringify({
          meta: _meta['perdura/call_key'],
          env: process.env.SECRET ?? null,
          ...digested(process.env.SECRET),
        }),
      },
    ],
  }),
  change: () => {
    calls += 1;
    send({ method: 'notifications/tools/list_changed' });
    return {
      content: [
        { type: 'text', text: 'changed' },
        { type: 'image', data: PNG, mimeType: 'image/png' },
      ],
    };
  },
  remember: ({ arguments: { word } }) => {
    const text = JSON.stringify(remembered);
    remembered.push(word);
    return { content: [{ type: 'text', text }] };
  },
  hang: () => undefined,
};

const said = ({ name }) => ({ content: [{ type: 'text', text: `${name} was called` }] });

if (manner === 'stderr') setInterval(() => process.stderr.write(`${'noise '.repeat(10_000)}\n`), 1);

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (manner === 'hangs') continue;
  if (manner === 'noise') process.stdout.write('this is not a message\n');
  if (method === 'notifications/cancelled') process.stderr.write('CANCELLED\n');
  if (id === undefined) continue;
  // What programs do that know only the handshake, when they are asked what they speak.
  if (method === 'server/discover' && manner === 'ends') process.exit(3);
  if (method === 'server/discover' && manner === 'ignores') continue;
  if (method === 'initialize') {
    const capabilities = { tools: { listChanged: manner === 'changes' } };
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities, serverInfo: { name: 'odd', version: '1' } } });
  } else if (method === 'tools/list') {
    const names = (named ?? Object.keys(acts)).map((name) =>
      tool(name, name === 'key' ? { annotations: { readOnlyHint: true } } : {}),
    );
    send({ id, result: lists[manner]?.(params) ?? { tools: names } });
  } else if (method === 'tools/call') {
    const act = named?.includes(params.name) ? said : acts[params.name];
    const result = act?.(params);
    if (result) send({ id, result });
    else if (!act) send({ id, error: { code: -32602, message: `no tool ${params.name}` } });
  } else send({ id, result: {} });
}

import { z } from 'zod';
import { JsonRecord, limitEntries, Name, Needs, protective, Tags, Timestamp, toPatchSchema } from './common.ts';
import { crud, endpoint, IdParams } from './endpoint.ts';
import { McpImport } from './mcp-entries.ts';
import { McpSignIn, McpSignInAnswer, McpSignInBegun, McpSignInFinished } from './mcp-sign-ins.ts';
import { ImportResult } from './transfer.ts';

const TRANSPORTS = ['stdio', 'http', 'sse'] as const;
/** The versions of MCP with a handshake count as the last one of them. */
const PROTOCOLS = ['auto', '2025-11-25', '2026-07-28'] as const;

/** The placeholder for a sealed value. A client that sends it back leaves the value unchanged. */
export const MASK = '********';

const Texts = z.record(z.string(), z.string()).default({});

export const StdioConfig = z
  .object({ command: z.string().min(1), args: z.array(z.string()).default([]), env: Texts })
  .meta({ id: 'StdioConnection' });
const OAuthClient = z
  .object({
    client_id: z.string().min(1).optional(),
    client_secret: z.string().min(1).optional(),
    scope: z.string().min(1).optional(),
  })
  .meta({ id: 'McpOAuthClient' });
export const UrlConfig = z
  .object({ url: z.union([z.url({ protocol: /^https?$/ }), z.literal(MASK)]), headers: Texts, oauth: OAuthClient.optional() })
  .meta({ id: 'UrlConnection' });

export const McpServerCreate = z
  .object({
    name: Name.meta({ example: 'weather' }),
    description: z.string().default(''),
    transport_type: z.enum(TRANSPORTS),
    connection_config: limitEntries(500, z.record(z.string(), z.unknown())).meta({
      description: `stdio: command, args, env; http and sse: url, headers, and for people's sign-ins oauth (client_id, client_secret, scope; without a client_id, Perdura registers itself). Values may hold {{token:NAME}} of a stored token. Secret values are returned as ${MASK}; sending the mask back leaves them unchanged.`,
      example: { url: 'https://mcp.example.com/mcp', headers: { Authorization: 'Bearer {{token:weather-key}}' } },
    }),
    allowed_tools: protective(z.array(z.string())).default([]).meta({ description: 'Empty: all' }),
    tags: Tags,
    is_enabled: z.boolean().default(true).meta({ description: 'Whether runs get its tools' }),
    allow_secret_questions: z.boolean().default(false).meta({
      description:
        'Whether the server may ask people for passwords, access tokens and the like while a tool runs; otherwise such questions are refused',
    }),
    connect_seconds: z.int().min(1).max(600).default(30).meta({
      description: 'How long a connection may take until the server answers. The installation of its package is not counted',
    }),
    protocol: z.enum(PROTOCOLS).default('auto').meta({
      description:
        'The version of MCP: `2025-11-25` for all with a handshake, `2026-07-28`, or `auto` to ask the server, and prefer the later one. Servers that know both, but ask people questions only in the older way, need `2025-11-25`. The transport `sse` always has a handshake',
    }),
    state: z.boolean().default(false).meta({
      description:
        'Whether a stdio server has a folder that outlasts its process: its home and working directory, one for each person who uses it',
    }),
    network: z.boolean().default(false).meta({ description: 'Whether a stdio server may reach the network' }),
    paths: z.array(z.string().max(4_096)).max(64).default([]).meta({
      description:
        'Folders and files of the host that a stdio server may read, or also write with `:rw` at the end. The operator allows them with MCP_PATHS; 422 for any other.',
    }),
  })
  .meta({ id: 'McpServerCreate' });
export type McpServerValues = z.output<typeof McpServerCreate>;

export const McpServerUpdate = toPatchSchema(McpServerCreate).meta({ id: 'McpServerUpdate' });

export const McpServer = z
  .object({
    ...JsonRecord,
    ...McpServerCreate.shape,
    status: z.enum(['registered', 'connected', 'error']),
    last_error: z.string().nullable(),
    sign_in: McpSignIn.nullable().default(null).meta({ description: "The caller's own sign-in at the server; null: none" }),
    needs: Needs,
  })
  .meta({ id: 'McpServer' });
export type McpServer = z.output<typeof McpServer>;

export const McpTool = z
  .object({
    name: z.string(),
    description: z.string(),
    parameters: z.record(z.string(), z.unknown()),
    effect: z.string(),
    allowed: z.boolean(),
  })
  .meta({ id: 'McpTool' });
export type McpTool = z.output<typeof McpTool>;

export const McpToolList = z
  .object({
    tools: z.array(McpTool),
    listed_at: Timestamp.nullable().meta({
      description: 'When the server listed them; null: it has not, as it is configured now, for you. Then `tools` is empty.',
    }),
    note: z.string().nullable().meta({ description: 'What to do if nothing is listed' }),
  })
  .meta({ id: 'McpTools' });
export type McpToolList = z.output<typeof McpToolList>;

const McpPrompt = z
  .object({
    name: z.string(),
    title: z.string().nullable(),
    description: z.string(),
    arguments: z.array(z.object({ name: z.string(), description: z.string(), required: z.boolean() })).meta({
      description: 'What the prompt is filled in with: texts',
    }),
  })
  .meta({ id: 'McpPrompt' });

export const McpPrompts = z.object({ prompts: z.array(McpPrompt) }).meta({ id: 'McpPrompts' });
export type McpPrompts = z.output<typeof McpPrompts>;

const McpPromptFill = z
  .object({
    name: z.string().min(1).max(256),
    arguments: z.record(z.string(), z.string()).default({}),
  })
  .meta({ id: 'McpPromptFill', example: { name: 'review', arguments: { language: 'TypeScript' } } });
export type McpPromptFill = z.output<typeof McpPromptFill>;

export const McpPromptText = z.object({ text: z.string() }).meta({ id: 'McpPromptText' });
export type McpPromptText = z.output<typeof McpPromptText>;

export const McpTest = z
  .object({ success: z.boolean(), tools: z.array(z.string()), error: z.string().nullable() })
  .meta({ id: 'McpTest' });
export type McpTest = z.output<typeof McpTest>;

const tag = 'MCP servers';

export const mcps = {
  ...crud(
    { path: '/api/mcps', noun: 'MCP server', tag, shared: true },
    { record: McpServer, create: McpServerCreate, update: McpServerUpdate },
  ),
  test: endpoint('POST /api/mcps/{id}/test', {
    operation: 'test_mcp_server',
    access: 'run',
    tag,
    summary: 'Connect to a server and ask for its tools',
    description: 'A 200 means that the test was made; `success` reports its result.',
    params: IdParams,
    reply: McpTest,
    refuses: [502],
  }),
  tools: endpoint('GET /api/mcps/{id}/tools', {
    operation: 'list_mcp_tools',
    tag,
    summary: 'The tools that a server listed last',
    description:
      'Asks nobody: the list is of the last test, refresh or run. What was obtained with stored tokens or with a sign-in is shown to the ' +
      'person who had it listed alone. A change of the connection discards it. 502 if nothing is listed and the last attempt failed.',
    params: IdParams,
    reply: McpToolList,
    refuses: [502],
  }),
  refreshTools: endpoint('POST /api/mcps/{id}/tools/refresh', {
    operation: 'refresh_mcp_tools',
    access: 'run',
    tag,
    summary: 'Ask a server for its tools',
    description: 'Starts or calls the server in the name of the caller, and stores what it lists. 502 if it cannot be reached.',
    params: IdParams,
    reply: McpToolList,
    refuses: [502],
  }),
  prompts: endpoint('POST /api/mcps/{id}/prompts', {
    operation: 'list_mcp_prompts',
    access: 'run',
    tag,
    summary: 'Ask a server for its prompts',
    description:
      'Starts or calls the server in the name of the caller; nothing is stored. A server without prompts has an empty list. 502 if it cannot be reached.',
    params: IdParams,
    reply: McpPrompts,
    refuses: [502],
  }),
  fillPrompt: endpoint('POST /api/mcps/{id}/prompts/fill', {
    operation: 'fill_mcp_prompt',
    access: 'run',
    tag,
    summary: 'Have a server fill in one of its prompts',
    description:
      'Returns the prompt as one text, for a prompt of a run or the instructions of an agent. 422 with the reason of the server if it has no such prompt, or if arguments are missing.',
    params: IdParams,
    body: McpPromptFill,
    reply: McpPromptText,
    refuses: [502],
  }),
  allow: endpoint('PUT /api/mcps/{id}/tools', {
    operation: 'allow_mcp_tools',
    tag,
    summary: 'Choose which tools of a server may be used',
    description: 'An empty list allows all. `If-Match` names the state of the server, as `GET /api/mcps/{id}` returns it.',
    params: IdParams,
    body: z
      .object({ allowed_tools: z.array(z.string()) })
      .meta({ id: 'McpAllowList', example: { allowed_tools: ['read_file'] } }),
    reply: McpServer,
    refuses: [403, 412],
    shared: true,
  }),
  beginSignIn: endpoint('POST /api/mcps/{id}/sign-in', {
    operation: 'begin_mcp_sign_in',
    access: 'run',
    tag,
    summary: 'Begin to sign in to a server',
    description:
      'For servers that take only people who signed in (OAuth). Open `authorization_url` in a browser: the server asks for consent and ' +
      'sends the browser back to the dashboard, which calls `finish_mcp_sign_in`. Only the caller’s own runs and requests use the sign-in.',
    params: IdParams,
    reply: McpSignInBegun,
    status: 201,
    refuses: [409, 502],
  }),
  finishSignIn: endpoint('POST /api/mcps/sign-in', {
    operation: 'finish_mcp_sign_in',
    access: 'run',
    tag,
    summary: 'Finish to sign in to a server',
    description:
      'Takes what the server sent the browser back with. A `state` is taken once, and only from the person and access token that began.',
    body: McpSignInAnswer,
    reply: McpSignInFinished,
    refuses: [403, 409, 502],
  }),
  endSignIn: endpoint('DELETE /api/mcps/{id}/sign-in', {
    operation: 'end_mcp_sign_in',
    access: 'run',
    tag,
    summary: "Delete the caller's sign-in at a server",
    description: 'Its tokens are deleted here. To end them at the server, too, use the pages of the server.',
    params: IdParams,
  }),
  clearState: endpoint('DELETE /api/mcps/{id}/state', {
    operation: 'clear_mcp_state',
    access: 'run',
    tag,
    summary: "Delete the caller's state of a server",
    description:
      'What a stdio server with `state` has kept for the caller. What it keeps for others stays. Its next process starts without.',
    params: IdParams,
  }),
  import: endpoint('POST /api/mcps/import', {
    operation: 'import_mcp_servers',
    tag,
    summary: 'Create servers from the common mcpServers JSON',
    description:
      'Takes the spellings of other programs, with comments and trailing commas. Each entry is created separately; entries that fail are listed in `errors`. `disabled: true` makes a disabled server. ' +
      '`warnings` names what will not work here as it did in another client.',
    body: McpImport,
    reply: ImportResult,
    status: 201,
    large: true,
    commented: true,
    shared: true,
  }),
};

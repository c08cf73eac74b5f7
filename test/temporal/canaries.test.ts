import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KnowledgeSourceCreate } from '../../src/contracts/knowledge.ts';
import { McpServerCreate, StdioConfig, UrlConfig } from '../../src/contracts/mcps.ts';
import { ProviderCreate } from '../../src/contracts/providers.ts';
import { isTerminal } from '../../src/domain/statuses.ts';
import { localIdentity } from '../../src/identity/providers.ts';
import { clientOf } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startGitServer } from '../support/peers/git-server.ts';
import { quote, startRefusingPostgres, startTeller, WAYS } from '../support/peers/teller.ts';
import { agentAsks, agentSays, startVendorServer } from '../support/peers/vendor-server.ts';
import { clientForTests } from '../support/runs/temporal-client.ts';
import { creating, PLACES, SECRET_FIELD } from './canary-places.ts';

/** What is searched for stands in the middle of a value with characters that every encoding changes. */
const needles = new Map<string, string>();
function canary(row: string, { plain = false } = {}): string {
  const core = randomBytes(12).toString('hex');
  needles.set(row, core);
  return plain ? `canary-${core}-end` : dressed(core);
}
const dressed = (core: string) => `c/&"+${core}+"<'>=`;

let here: TestInstallation;
let teller: Awaited<ReturnType<typeof startTeller>>;
let vendor: Awaited<ReturnType<typeof startVendorServer>>;
let git: Awaited<ReturnType<typeof startGitServer>>;
let postgres: Awaited<ReturnType<typeof startRefusingPostgres>>;
let alice: ReturnType<typeof clientOf>;
/** Everything that leaves, by where it was found. */
const seen: [place: string, text: string][] = [];
const repo_token = canary('repository', { plain: true });
const webhook_key = randomBytes(24).toString('base64');
needles.set('webhook secret', webhook_key.slice(4, 28));

beforeAll(async () => {
  [teller, vendor, postgres] = await Promise.all([startTeller(), startVendorServer(), startRefusingPostgres()]);
  const said = (authorization: string) => quote(Buffer.from(authorization.replace('Basic ', ''), 'base64').toString());
  git = await startGitServer({ token: repo_token, says: (authorization) => said(authorization).replaceAll(' ', '\n') });
  const access_token = canary('access token', { plain: true });
  const log: string[] = [];
  seen.push(['log', '']);
  here = await startTestInstallation({
    env: { LOG_LEVEL: 'trace', REPO_CA_FILE: git.ca_file, ANTHROPIC_API_URL: vendor.url, ALLOW_STDIO_MCP: 'true' },
    setting: {
      default_runtime: { base_url: `${teller.url}/default/echo`, model: 'echo' },
      identity_providers: [localIdentity([{ login: 'alice', token: access_token }])],
      embeddings: { base_url: teller.url, model: 'any', api_key: canary('embeddings key', { plain: true }) },
      webhook_secret: `whsec_${webhook_key}`,
    },
    log: (line) => void log.push(line),
  });
  const client = clientOf(here.url, access_token);
  // Responses to clients are searched too.
  const send: typeof client.send = async (...request) => {
    const reply = await client.send(...request);
    seen.push([`${request[0]} ${request[1]}`, JSON.stringify([reply.body, Object.fromEntries(reply.headers)])]);
    return reply;
  };
  alice = {
    ...client,
    ok: client.ok,
    ...{ send, get: (path) => send('GET', path), post: (path, body) => send('POST', path, { body }) },
    put: (path, body) => send('PUT', path, { body }),
  } as typeof client;
  Object.assign(here, { log });
}, 120_000);
afterAll(async () => {
  await here?.stop();
  await Promise.all([teller, vendor, git, postgres].map((it) => it?.stop()));
});

const made = async (path: string, values: object) => (await alice.ok(alice.post(path, values))).id as string;
const token = async (row: string, options = {}) => {
  const name = row.replaceAll(/\W/g, '-');
  await made('/api/tokens', { name, value: canary(row, options) });
  return name;
};
/** Decides that the calls of a run failed whose server or worker was lost: it waits for that. */
async function failUncertain(task_id: string): Promise<void> {
  const steps = (await alice.get(`/api/tasks/${task_id}/steps`)).body as { tool_calls: { call_id: string }[] }[];
  for (const { call_id } of steps.flatMap(({ tool_calls }) => tool_calls))
    await alice.post(`/api/tasks/${task_id}/reconciliations/${call_id}`, { decision: 'fail' });
}
async function ended(task_id: string): Promise<Record<string, any>> {
  for (let tries = 0; tries < 900; tries += 1) {
    const { body } = await alice.get(`/api/tasks/${task_id}`);
    if (isTerminal(body.status)) return body;
    if (body.status === 'waiting') await failUncertain(task_id);
    await wait(100);
  }
  throw new Error(`the task ${task_id} did not end`);
}
const workflowOf = async (agent: object, workflow: object = {}) => {
  const agent_id = await made('/api/agents', { name: `agent ${randomBytes(4).toString('hex')}`, ...agent });
  const values = {
    agent_id,
    output_format: 'markdown',
    max_turns: 200,
    webhook_url: `${teller.url}/hook`,
    error_webhook_url: `${teller.url}/hook`,
  };
  return { agent_id, id: await made('/api/workflows', { ...values, ...workflow }) };
};
const prompt = async (id: string, more: object = {}) =>
  (await alice.ok(alice.post(`/api/workflows/${id}/prompt`, { prompt: 'Say what you know.', ...more }))).task_id as string;

async function chat(agent_id: string): Promise<void> {
  seen.push([
    `chat with ${agent_id}`,
    JSON.stringify(await alice.send('POST', `/api/agents/${agent_id}/chat`, { body: { message: 'Hello' } })),
  ]);
}

const PROVIDERS: [row: string, values: Record<string, unknown>][] = [
  ['provider bearer', { provider_type: 'openai_compatible', auth_type: 'bearer' }],
  ['provider x-api-key', { provider_type: 'openai_compatible', auth_type: 'x-api-key' }],
  ['provider openai', { provider_type: 'openai', auth_type: 'bearer' }],
  ['provider azure', { provider_type: 'azure_openai', azure_deployment: 'teller' }],
  ['provider anthropic_messages', { provider_type: 'anthropic_messages' }],
];

/** Rows of models: each in every way of answering. */
async function tryModels(): Promise<string[]> {
  const tasks: Promise<string>[] = [];
  for (const [row, values] of PROVIDERS) {
    const api_key_token_name = await token(row, { plain: row !== 'provider azure' && row !== 'provider bearer' });
    for (const way of WAYS) {
      const base_url = `${teller.url}/model/${way}`;
      const provider_id = await made('/api/providers', {
        name: `${row} ${way}`,
        default_model: 'm',
        ...values,
        api_key_token_name,
        base_url,
      });
      tasks.push(tryModel({ provider_id }));
      await Promise.all([alice.post(`/api/providers/${provider_id}/test`), alice.get(`/api/models?provider_id=${provider_id}`)]);
    }
  }
  await tryDrafts();
  for (const model of WAYS) tasks.push(tryModel({ model }));
  void (await alice.get('/api/models'));
  return Promise.all(tasks);
}

/** Providers that are tested before they are stored: the key comes with the request. */
async function tryDrafts(): Promise<void> {
  for (const auth_type of ['bearer', 'x-api-key']) {
    const draft = {
      provider_type: 'openai_compatible',
      auth_type,
      api_key: canary(`provider draft ${auth_type}`, { plain: true }),
    };
    await Promise.all(WAYS.map((way) => alice.post('/api/providers/test', { ...draft, base_url: `${teller.url}/model/${way}` })));
  }
}

async function tryModel(agent: object): Promise<string> {
  const { id, agent_id } = await workflowOf(agent);
  const [task_id] = await Promise.all([prompt(id), chat(agent_id)]);
  return task_id;
}

/** The vendor's own sessions: scripted with the secret, since they only hold who asked. */
async function tryVendor(): Promise<string[]> {
  const api_key_token_name = await token('provider vendor');
  const secret = dressed(needles.get('provider vendor')!);
  const provider_id = await made('/api/providers', {
    name: 'vendor',
    provider_type: 'anthropic',
    api_key_token_name,
    default_model: 'm',
  });
  const { id, agent_id } = await workflowOf({ provider_id, builtin_tools: ['manage_todo_list'] });
  vendor.script(
    [...agentSays(quote(secret)), ...agentAsks({ name: 'nothing', input: { note: quote(secret) } })],
    [...agentSays(quote(secret))],
  );
  const tasks = [await prompt(id)];
  await ended(tasks[0]!);
  for (const status of [400, 529]) {
    vendor.refuse(
      ...Array.from({ length: status === 400 ? 1 : 3 }, () => ({
        status,
        path: /sessions|agents/,
        message: quote(secret),
        headers: { 'retry-after-ms': '20' },
      })),
    );
    tasks.push(await prompt(id));
    await ended(tasks.at(-1)!);
  }
  vendor.refuse({ status: 401, path: /messages/, message: quote(secret) });
  await chat(agent_id);
  vendor.refuse({ status: 401, path: /models/, message: quote(secret) });
  void (await alice.post(`/api/providers/${provider_id}/test`));
  return tasks;
}

const STDIO = `
import base64, json, os, sys, time
secret = os.environ.get("SECRET") or sys.argv[2]
said = " ".join(["this is " + os.environ["LABEL"], secret, base64.b64encode(secret.encode()).decode(), json.dumps(secret), secret.encode().hex()])
if sys.argv[1] == "dies":
    sys.stdin.readline()
    sys.stderr.write("x" * 1000 + " " + said)
    sys.stderr.flush()
    time.sleep(0.3)
    sys.exit(3)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method, result = message["method"], {}
    if method == "initialize": result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": said, "version": "1"}}
    if method == "tools/list": result = {"tools": [{"name": n, "description": said, "inputSchema": {"type": "object"}} for n in (["ends"] if sys.argv[1] == "ends" else ["returns"])]}
    if method == "tools/call":
        if message["params"]["name"] == "ends":
            time.sleep(1); sys.stderr.write(said); sys.stderr.flush(); time.sleep(0.3); os._exit(1)
        result = {"content": [{"type": "text", "text": said}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
`;
const stdio = (LABEL: string, { manner = 'serves', env = {}, args = [] as string[] }) => ({
  ...{ command: 'python3', args: ['-c', STDIO, manner, ...args] },
  env: { ...env, LABEL },
});

/** The connections of MCP servers, and the rows they are. */
async function mcpServers(): Promise<string[]> {
  const http = (config: object) => ({ transport_type: 'http', connection_config: { url: `${teller.url}/mcp`, ...config } });
  const by_token = `{{token:${await token('MCP header by token', { plain: true })}}}`;
  const servers: Record<string, object> = {
    'MCP header by token': http({ headers: { Authorization: `Bearer ${by_token}` } }),
    'MCP header sealed': http({ headers: { 'x-secret': canary('MCP header sealed') } }),
    'MCP header down': http({ url: `${teller.url}/mcp/down`, headers: { 'x-api-key': canary('MCP header down') } }),
    'MCP url sealed': http({ url: `${teller.url}/moved/nowhere?api_key=${canary('MCP url sealed', { plain: true })}` }),
    'MCP oauth client': http({ oauth: { client_id: 'perdura', client_secret: canary('MCP oauth client') } }),
    'MCP sse header': {
      transport_type: 'sse',
      connection_config: { url: `${teller.url}/sse`, headers: { 'x-secret': canary('MCP sse header') } },
    },
    'MCP stdio env': {
      transport_type: 'stdio',
      connection_config: stdio('MCP stdio env', { env: { SECRET: canary('MCP stdio env') } }),
    },
    'MCP stdio env by token': {
      transport_type: 'stdio',
      connection_config: stdio('MCP stdio env by token', {
        env: { SECRET: `{{token:${await token('MCP stdio env by token')}}}` },
      }),
    },
    'MCP stdio args': {
      transport_type: 'stdio',
      connection_config: stdio('MCP stdio args', { args: [`--api-key=${canary('MCP stdio args')}`] }),
    },
    'MCP stdio ends': {
      transport_type: 'stdio',
      connection_config: stdio('MCP stdio ends', { manner: 'ends', env: { SECRET: canary('MCP stdio ends') } }),
    },
    'MCP stdio dies': {
      transport_type: 'stdio',
      connection_config: stdio('MCP stdio dies', { manner: 'dies', env: { SECRET: canary('MCP stdio dies') } }),
    },
  };
  const ids: string[] = [];
  for (const [name, values] of Object.entries(servers)) ids.push(await made('/api/mcps', { name, ...values }));
  const mcpServersOf = {
    'MCP imported header': { url: `${teller.url}/mcp`, headers: { 'x-secret': canary('MCP imported header') } },
    'MCP imported env': stdio('MCP imported env', { env: { SECRET: canary('MCP imported env') } }),
    'MCP imported args': stdio('MCP imported args', { args: [`--token=${canary('MCP imported args')}`] }),
  };
  ids.push(...((await alice.ok(alice.post('/api/mcps/import', { mcpServers: mcpServersOf }))).ids as string[]));
  await Promise.all(
    ids.flatMap((id) => [
      alice.post(`/api/mcps/${id}/test`),
      alice.post(`/api/mcps/${id}/tools/refresh`),
      alice.get(`/api/mcps/${id}/tools`),
    ]),
  );
  return ids;
}

const TOOL = (name: string) => `
import base64, os, sys
ENV = {"SECRET": "what it is for"}
EFFECT = "read"
def ${name}(note: str = "") -> dict:
    secret = os.environ["SECRET"]
    place = os.environ.get("PERDURA_WORKSPACE")
    if place:
        with open(place + "/leaked.txt", "a") as file:
            file.write("here: " + secret + " " + base64.b64encode(secret.encode()).decode() + "\\n")
    print(secret)
    print(secret, file=sys.stderr)
    ${{ returns: 'return {secret: [secret, secret.encode().hex()]}', raises: 'raise ValueError("bad " + secret)', dies: 'os._exit(4)' }[name.split('_')[0]!]}
`;

async function tools(): Promise<{ custom_tool_ids: string[]; credential_overrides: object }> {
  const own = await token('tool env');
  const custom_tool_ids: string[] = [];
  for (const name of ['returns_all', 'raises_all', 'dies_all']) {
    const id = await made('/api/custom-tools', { name, source_code: TOOL(name), env_config: { SECRET: { token_name: own } } });
    void (await alice.post(`/api/custom-tools/${id}/run`, { arguments: {} }));
    custom_tool_ids.push(id);
  }
  return { custom_tool_ids, credential_overrides: { SECRET: await token('override') } };
}

async function sources(): Promise<string[]> {
  const by_token = `{{token:${await token('Qdrant by token', { plain: true })}}}`;
  const sealed = canary('Qdrant sealed');
  const password = canary('pgvector', { plain: true });
  const ids: string[] = [];
  for (const way of ['echo', 'error', 'redirect', 'garbage']) {
    for (const [row, api_key] of [
      ['sealed', sealed],
      ['by token', by_token],
    ]) {
      const connection_config = { url: `${teller.url}/qdrant/${way}`, collection: 'c', api_key };
      ids.push(
        await made('/api/knowledge-sources', { name: `Qdrant ${row} ${way}`, source_type: 'vector_db', connection_config }),
      );
    }
  }
  const url = `postgres://reader:${password}@127.0.0.1:${postgres.port}/db`;
  ids.push(
    await made('/api/knowledge-sources', { name: 'pgvector', source_type: 'pgvector', connection_config: { url, table: 't' } }),
  );
  await Promise.all(ids.map((id) => alice.post(`/api/knowledge-sources/${id}/test`)));
  void (await alice.post('/api/knowledge-items/query', { query: 'handbook', source_ids: ids }));
  void (await alice.post('/api/knowledge-items/query', { query: 'FAIL' }));
  const source_id = await made('/api/knowledge-sources', { name: 'here' });
  void (await alice.post('/api/knowledge-items', { source_id, name: 'one', content: 'FAIL to embed' }));
  return ids;
}

/** One run that holds all secrets of its tools, sources and repository, with a model that repeats all it hears. */
async function tryTools(): Promise<string[]> {
  const [mcp_server_ids, { custom_tool_ids, credential_overrides }, knowledge_source_ids] = [
    await mcpServers(),
    await tools(),
    await sources(),
  ];
  const values = {
    name: 'hears all',
    provider_type: 'openai_compatible',
    base_url: `${teller.url}/model/echo`,
    default_model: 'm',
  };
  const provider_id = await made('/api/providers', { ...values, api_key_token_name: 'provider-bearer' });
  const rotated = await token('rotated');
  const builtin_tools = ['bash', 'read', 'grep', 'store_memory'];
  const agent = { provider_id, mcp_server_ids, custom_tool_ids, knowledge_source_ids, builtin_tools };
  await made('/api/tokens', { name: 'repo', value: repo_token });
  const repo = { repo_url: git.url, repo_branch: 'main', repo_token_name: 'repo' };
  const all = await workflowOf(agent, { ...repo, auto_memory: true });
  const overridden = await workflowOf({ ...agent, mcp_server_ids: [] }, { credential_overrides });
  const tasks = [await prompt(all.id), await prompt(overridden.id)];
  const refused = await workflowOf({ provider_id }, { ...repo, repo_url: git.url.replace('repo.git', 'refused.git') });
  tasks.push(await prompt(refused.id));
  const { id } = (await alice.ok(alice.get('/api/tokens'))).find((it: { name: string }) => it.name === rotated);
  await alice.ok(alice.put(`/api/tokens/${id}`, { value: canary('rotated') }));
  const unreachable = { url: `${teller.url}/mcp/unreachable`, headers: { 'x-secret': canary('MCP unreachable') } };
  const lost = await made('/api/mcps', { name: 'unreachable', transport_type: 'http', connection_config: unreachable });
  tasks.push(await prompt((await workflowOf({ provider_id, mcp_server_ids: [lost] })).id));
  const required = await workflowOf({ provider_id, mcp_server_ids, required_mcp_servers: mcp_server_ids });
  tasks.push(await prompt(required.id));
  return tasks;
}

/** The workflow as a tool of the MCP door; what that answers is kept with the rest. */
async function callOverMcp(workflow_id: string): Promise<void> {
  const headers = { accept: 'application/json, text/event-stream' };
  const ask = async (id: number, method: string, params: object) => {
    const { body, status } = await alice.send('POST', '/mcp', { body: { jsonrpc: '2.0', id, method, params }, headers });
    expect(status).toBe(200);
    return JSON.stringify(body).replaceAll('\\', '');
  };
  const name = new RegExp(`"name":"([^"]*${workflow_id.slice(-8)})"`).exec(await ask(1, 'tools/list', {}))?.[1];
  const answer = await ask(2, 'tools/call', { name, arguments: { prompt: 'Say it.' } });
  expect(answer).toContain('"result"');
  mcp_answers.push(answer);
}
const mcp_answers: string[] = [];

/** The other doors: a schedule, the OpenAI door and MCP, all over the default runtime. */
async function tryCompatibleApis(): Promise<string[]> {
  const { id } = await workflowOf({ model: 'echo' });
  const schedule = await made('/api/scheduled-agents', {
    name: 's',
    workflow_id: id,
    prompt: 'Say it.',
    interval_value: 1,
    interval_unit: 'weeks',
  });
  void (await alice.post(`/api/scheduled-agents/${schedule}/trigger`));
  for (const model of ['echo', 'error', 'cut']) {
    const { id: workflow_id } = await workflowOf({ model });
    const messages = [{ role: 'user', content: 'Say it.' }];
    void (await alice.post('/v1/chat/completions', { model: workflow_id, messages }));
    void (await alice.post('/v1/chat/completions', { model: workflow_id, messages, stream: true }));
    void (await alice.post('/v1/responses', { model: workflow_id, input: 'Say it.' }));
    await callOverMcp(workflow_id);
  }
  return ((await alice.ok(alice.get('/api/tasks?limit=1000'))) as unknown as { id: string }[]).map((task) => task.id);
}

it('nothing that a target says back holds the secret that it was sent', async () => {
  const tasks = await Promise.all([tryModels(), tryTools()]);
  const all = new Set([...tasks.flat(), ...(await tryVendor()), ...(await tryCompatibleApis())]);
  const statuses = await Promise.all([...all].map(async (task_id) => (await ended(task_id)).status));
  expect(new Set(statuses)).toEqual(new Set(['completed', 'failed']));
  await lookEverywhere([...all]);
  // Every secret has reached its target, or the search would prove nothing.
  const sent = teller.met.join('\n');
  const rows = [
    ...PROVIDERS.map(([row]) => row),
    'provider draft bearer',
    'provider draft x-api-key',
    'MCP header by token',
    'MCP header sealed',
    'MCP sse header',
    'Qdrant sealed',
    'Qdrant by token',
    'access token',
    'MCP imported header',
  ];
  expect(rows.filter((row) => !sent.includes(needles.get(row)!))).toEqual([]);
  expect(leaks()).toEqual([]);
  // Nor would it, if what they said had not been looked at.
  const heard = seen
    .filter(([place]) => place.startsWith('stream'))
    .map(([, said]) => said)
    .join('\n');
  const labels = ['env', 'env by token', 'args', 'dies'].map((row) => `this is MCP stdio ${row} `);
  expect(
    [...labels, 'this is MCP imported args ', '"bash"', 'here: [redacted] [redacted]'].filter((label) => !heard.includes(label)),
  ).toEqual([]);
  // The first of them is the whole of what a model repeats.
  expect(mcp_answers).toHaveLength(3);
  expect(mcp_answers[0]).toContain('[redacted]');
  const text = seen.map(([, said]) => said).join('\n');
  expect(text.split('[redacted]').length).toBeGreaterThan(500);
}, 300_000);

type Schema = Record<string, any>;

/** The fields of all request bodies that may hold a secret or lead to one, as `Schema.path`. */
async function secretFields(): Promise<string[]> {
  const { body: api } = await alice.get('/openapi.json');
  const found = new Set<string>();
  const walk = (schema: Schema | undefined, path: string, seen_refs: readonly string[] = []): void => {
    if (!schema) return;
    const ref = schema.$ref?.split('/').at(-1) as string | undefined;
    if (ref && !seen_refs.includes(ref)) walk(api.components.schemas[ref], ref, [...seen_refs, ref]);
    for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) walk(part, path, seen_refs);
    for (const [name, field] of Object.entries<Schema>(schema.properties ?? {})) {
      // A flag holds nothing.
      if ((SECRET_FIELD.test(name) && field.type !== 'boolean') || field.writeOnly) found.add(`${path}.${name}`);
      walk(field, `${path}.${name}`, seen_refs);
    }
    if (typeof schema.additionalProperties === 'object') walk(schema.additionalProperties, `${path}.*`, seen_refs);
    walk(schema.items, `${path}[]`, seen_refs);
  };
  for (const methods of Object.values<Schema>(api.paths))
    for (const operation of Object.values<Schema>(methods))
      for (const content of Object.values<Schema>(operation.requestBody?.content ?? {}))
        walk(content.schema, operation.operationId);
  return [...new Set([...found].map(creating))].sort();
}

describe('the matrix', () => {
  it('has rows for every field of the schemas that holds a secret or leads to one', async () => {
    expect(await secretFields()).toEqual(Object.keys(PLACES).sort());
  });

  it('has a row for every kind of provider, connection and source', () => {
    const rows = [...needles.keys()].join('\n');
    const { provider_type, auth_type } = ProviderCreate.shape;
    const kinds = [
      ...provider_type.options.map(
        (type) =>
          `provider ${({ openai_compatible: 'bearer', azure_openai: 'azure', anthropic: 'vendor' } as Record<string, string>)[type] ?? type}`,
      ),
      ...auth_type.unwrap().options.map((type) => `provider ${type}`),
      ...McpServerCreate.shape.transport_type.options.map(
        (type) => ({ stdio: 'MCP stdio', http: 'MCP header', sse: 'MCP sse' })[type],
      ),
      ...Object.keys({ ...StdioConfig.shape, ...UrlConfig.shape }).map(
        (field) =>
          ({
            command: 'MCP stdio',
            args: 'MCP stdio args',
            env: 'MCP stdio env',
            url: 'MCP url',
            headers: 'MCP header',
            oauth: 'MCP oauth',
          })[field],
      ),
      ...KnowledgeSourceCreate.shape.source_type
        .unwrap()
        .options.map((type) => ({ builtin: '', vector_db: 'Qdrant', pgvector: 'pgvector' })[type]),
    ];
    expect(kinds.filter((kind) => kind === undefined || !rows.includes(kind))).toEqual([]);
    expect(
      Object.values(PLACES)
        .flatMap((row) => (typeof row === 'string' ? [] : row))
        .filter((row) => !needles.has(row)),
    ).toEqual([]);
  });
});

async function lookEverywhere(tasks: string[]): Promise<void> {
  await using temporal = await clientForTests(here.setting);
  const look = async (task_id: string) => {
    const task = await alice.ok(alice.get(`/api/tasks/${task_id}`));
    const parts = ['steps', 'bundle', 'progress', 'webhooks'].map((part) => alice.get(`/api/tasks/${task_id}/${part}`));
    const stream = alice.events(`/api/workflows/${task.workflow_id}/stream?task_id=${task_id}`);
    const history = temporal.client.workflow.getHandle(`task-${task_id}`).fetchHistory();
    seen.push(
      [`stream of ${task_id}`, JSON.stringify(await stream)],
      [`history of ${task_id}`, JSON.stringify(await history, decoded)],
    );
    await Promise.all(parts);
  };
  for (let first = 0; first < tasks.length; first += 8) await Promise.all(tasks.slice(first, first + 8).map(look));
  const lists = [
    'tasks',
    'workflows',
    'agents',
    'providers',
    'mcps',
    'tokens',
    'knowledge-sources',
    'knowledge-items',
    'memories',
    'custom-tools',
    'export',
  ];
  for (const list of lists) void (await alice.get(`/api/${list}`));
  void (await alice.get('/metrics'));
  const { pool } = here.core.database;
  const { rows } = await pool.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
  );
  for (const { name } of rows)
    for (const row of (await pool.query(`SELECT * FROM "${name}"`)).rows)
      seen.push([`table ${name} ${row.name ?? row.id ?? ''}`, JSON.stringify(row, decoded)]);
  seen.push(['log', (here as unknown as { log: string[] }).log.join('\n')]);
}

/** Where each secret was found, in any of the forms that a target gave it. */
function leaks(): string[] {
  const found: string[] = [];
  for (const [row, core] of needles) {
    const forms = [core, core.slice(0, 14), Buffer.from(core).toString('hex').slice(0, 30)];
    for (const shift of [0, 1, 2]) {
      const encoded = Buffer.concat([Buffer.alloc(shift), Buffer.from(core)]).toString('base64');
      forms.push(encoded.slice(shift + 1, -4));
    }
    for (const [place, text] of seen) {
      const form = forms.find((it) => text.includes(it));
      if (form) found.push(`${row} in ${place}: ${text.slice(Math.max(0, text.indexOf(form) - 80), text.indexOf(form) + 40)}`);
    }
  }
  return found;
}

/** Payloads of the engine and columns of bytes as the text they may hold. */
function decoded(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  const bytes = value as { type?: string; data?: number[] } | null;
  return bytes?.type === 'Buffer' && Array.isArray(bytes.data) ? Buffer.from(bytes.data).toString('latin1') : value;
}

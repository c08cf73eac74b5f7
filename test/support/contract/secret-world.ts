import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { localIdentity } from '../../../src/identity/providers.ts';
import { type Client, clientOf } from '../client.ts';
import { ALICE, BOB, type InstallationOptions, startTestInstallation } from '../installation.ts';
import { asks, says } from '../peers/model-server.ts';

const ROOT = 'token-of-root';

/** Starts a server that answers like any of the other targets, and keeps everything it receives. */
export async function startTarget() {
  const seen: string[] = [];
  const server = createServer(async (request, response) => {
    seen.push(`${request.url} ${JSON.stringify(request.headers)} ${await text(request)}`);
    const path = request.url ?? '';
    const answer = path.endsWith('/embeddings')
      ? { data: [{ index: 0, embedding: [0.1, 0.2] }] }
      : path.endsWith('/models')
        ? { object: 'list', data: [] }
        : { result: { points: [] } };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** True if a text was sent to a path with this prefix. */
    got: (secret: string, path = '') => seen.some((one) => one.startsWith(path) && one.includes(secret)),
    seen,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
export type Target = Awaited<ReturnType<typeof startTarget>>;

/** Starts an installation with Alice, Bob and an administrator, and a target that receives secrets. */
export async function startSecretWorld({ env = {}, ...options }: InstallationOptions = {}) {
  const target = await startTarget();
  const accounts = [
    { login: 'alice', token: ALICE },
    { login: 'bob', token: BOB },
    { login: 'root', token: ROOT },
  ];
  const here = await startTestInstallation({
    ...options,
    env: { ADMIN_SUBJECTS: 'local:root', ...env },
    setting: {
      identity_providers: [localIdentity(accounts)],
      embeddings: { base_url: `${target.url}/v1`, model: 'm', api_key: null },
      ...options.setting,
    },
  });
  // Each run calls its first tool once; later prompts get the same answers.
  here.model.always((response, request) => {
    const first = request.tools?.[0]?.function.name;
    const answer = first && request.messages.at(-1)?.role !== 'tool' ? asks({ name: first }) : says('done');
    return answer(response, request);
  });
  return {
    ...here,
    here,
    target,
    root: clientOf(here.url, ROOT),
    async stop() {
      await here.stop();
      await target.stop();
    },
  };
}
export type SecretWorld = Awaited<ReturnType<typeof startSecretWorld>>;

export type Outcome = 'arrived' | 'secret_not_granted' | string;

/** A resource that refers to a stored token: how to create it, redirect it, and make it send the secret. */
export interface HolderUnderTest {
  kind: string;
  /** Creates a resource that refers to the token. Returns its id and the path that changes it. */
  make(world: SecretWorld, as: Client, token: string): Promise<Held>;
}

export interface Held {
  id: string;
  /** The path of the resource. */
  path: string;
  /** The path and the values that change the destination of the secret. */
  moves: { path: string; values: object };
  /** Makes the resource send the secret, and returns the outcome. */
  use(as: Client, secret: string): Promise<Outcome>;
}

/** Returns the last result of a tool that the model received. */
export const resultOf = ({ model }: Pick<SecretWorld, 'model'>, tool: string): string => {
  const about = model.requests.findLast(({ tools }) => tools?.some(({ function: { name } }) => name === tool));
  return about?.messages.findLast(({ role }) => role === 'tool')?.content ?? '';
};

let made = 0;
export const unique = (name: string) => `${name}${++made}`;

const tested =
  (world: SecretWorld, path: string) =>
  async (as: Client, secret: string): Promise<Outcome> => {
    world.target.seen.length = 0;
    const { body } = await as.post(`${path}/test`);
    if (world.target.got(secret)) return 'arrived';
    return body.code ?? body.error;
  };

/** Reverses a text. Tool output that contains the secret is redacted, so the tool prints it backwards. */
export const backwards = (text: string) => [...text].reverse().join('');

const READS = (variable: string, more = '') =>
  `import os\nENV = {"${variable}": "key"}\nEFFECT = "read"\ndef NAME() -> str:\n    return os.environ["${variable}"][::-1]${more}\n`;

async function toolOf(as: Client, variable: string) {
  const name = unique('tool_');
  const source_code = READS(variable).replace('NAME', name);
  const { id } = await as.ok(as.post('/api/custom-tools', { name, source_code }));
  const moved = READS(variable, ' + ""').replace('NAME', name);
  return { id: id as string, name, moves: { path: `/api/custom-tools/${id}`, values: { source_code: moved } } };
}

export const HOLDERS: HolderUnderTest[] = [
  {
    kind: 'provider',
    async make(world, as, token) {
      const facts = { provider_type: 'openai_compatible', base_url: `${world.target.url}/a`, api_key_token_name: token };
      const { id } = await as.ok(as.post('/api/providers', { name: unique('provider '), ...facts }), 201);
      const path = `/api/providers/${id}`;
      return { id, path, moves: { path, values: { base_url: `${world.target.url}/b` } }, use: tested(world, path) };
    },
  },
  {
    kind: 'mcp_server',
    async make(world, as, token) {
      const headers = { Authorization: `Bearer {{token:${token}}}` };
      const config = (place: string) => ({ connection_config: { url: `${world.target.url}/${place}`, headers } });
      const { id } = await as.ok(as.post('/api/mcps', { name: unique('server '), transport_type: 'http', ...config('a') }), 201);
      const path = `/api/mcps/${id}`;
      return { id, path, moves: { path, values: config('b') }, use: tested(world, path) };
    },
  },
  {
    kind: 'knowledge_source',
    async make(world, as, token) {
      const api_key = `{{token:${token}}}`;
      const config = (place: string) => ({
        connection_config: { url: `${world.target.url}/${place}`, collection: 'c', api_key },
      });
      const values = { name: unique('source '), source_type: 'vector_db', ...config('a') };
      const { id } = await as.ok(as.post('/api/knowledge-sources', values), 201);
      const path = `/api/knowledge-sources/${id}`;
      return { id, path, moves: { path, values: config('b') }, use: tested(world, path) };
    },
  },
  {
    kind: 'custom_tool',
    async make(_world, as, token) {
      const { id, moves } = await toolOf(as, 'KEY');
      await as.ok(as.put(`/api/custom-tools/${id}/env-mapping`, { env_mapping: { KEY: token } }));
      const use = async (by: Client, secret: string) => {
        const { body } = await by.post(`/api/custom-tools/${id}/run`, {});
        if (body.result?.includes(backwards(secret))) return 'arrived';
        return /secret_not_granted/.exec(body.error ?? '')?.[0] ?? body.error ?? body.code;
      };
      return { id, path: `/api/custom-tools/${id}`, moves, use };
    },
  },
  {
    kind: 'workflow',
    async make(world, as, token) {
      const tool = await toolOf(as, 'KEY');
      const provider = {
        name: unique('provider '),
        provider_type: 'openai_compatible',
        base_url: world.model.url,
        default_model: 's',
      };
      const { id: provider_id } = await as.ok(as.post('/api/providers', provider), 201);
      const agent = { name: unique('agent '), provider_id, custom_tool_ids: [tool.id] };
      const { id: agent_id } = await as.ok(as.post('/api/agents', agent), 201);
      const values = { agent_id, output_format: 'markdown', credential_overrides: { KEY: token } };
      const { id } = await as.ok(as.post('/api/workflows', values), 201);
      const use = async (by: Client, secret: string) => {
        const { status } = await by.get(`/api/workflows/${id}`);
        if (status !== 200) return `${status}`;
        const { task_id } = await by.ok(by.post(`/api/workflows/${id}/prompt`, { prompt: 'x' }));
        await by.events(`/api/workflows/${id}/stream?task_id=${task_id}`);
        const answer = resultOf(world, tool.name);
        if (answer.includes(backwards(secret))) return 'arrived';
        return /secret_not_granted/.exec(answer)?.[0] ?? answer;
      };
      return { id, path: `/api/workflows/${id}`, moves: tool.moves, use };
    },
  },
];

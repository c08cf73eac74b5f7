import { once } from 'node:events';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
let canary: Server;
let folder: string;
const received: string[] = [];
/** The id of one record of each kind; each of them leads to the canary, or starts a process that leaves a file. */
const ids: Record<string, string> = {};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-reads-'));
  canary = createServer((request, response) => {
    received.push(`${request.method} ${request.url}`);
    response.writeHead(500).end();
  }).listen(0, '127.0.0.1');
  await once(canary, 'listening');
  const url = `http://127.0.0.1:${(canary.address() as AddressInfo).port}`;
  here = await startTestInstallation({ worker: false, env: { ALLOW_STDIO_MCP: 'true' } });
  const made = async (kind: string, values: object) => {
    ids[kind] = (await here.alice.ok(here.alice.post(`/api/${kind}`, values), 201)).id;
  };
  await made('providers', { name: 'far', provider_type: 'openai_compatible', base_url: url, default_model: 'far' });
  await made('mcps', { name: 'far', transport_type: 'http', connection_config: { url } });
  await made('knowledge-sources', { name: 'far', source_type: 'vector_db', connection_config: { url, collection: 'c' } });
  await made('agents', { name: 'far', provider_id: ids.providers, mcp_server_ids: [ids.mcps] });
  await made('workflows', { agent_id: ids.agents, webhook_url: url, error_webhook_url: url });
  await made('skills', { name: 'far', instructions: 'x' });
  const source_code = `import pathlib\ndef far() -> str:\n    pathlib.Path("${folder}/tool").touch()\n    return ""\n`;
  await made('custom-tools', { name: 'far', source_code });
});
afterAll(async () => {
  await here?.stop();
  canary?.close();
  await rm(folder, { recursive: true, force: true });
});

/** What asks somebody although it only reads, and why. */
const ASKS: Record<string, string> = {
  'GET /api/models': 'lists the models of an endpoint for a choice; cached, with the key that the caller may use',
};
const UNKNOWN = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be0ff';

it('reading asks nobody and starts nothing, whatever is read', async () => {
  const { paths } = (await here.alice.get('/openapi.json')).body as { paths: Record<string, object> };
  const reads = Object.keys(paths).filter((path) => 'get' in paths[path]! && !/\/(?:stream|changes)$/.test(path));
  expect(reads.length).toBeGreaterThan(70);
  const asked: Record<string, string[]> = {};
  for (const path of reads) {
    const kind = /^\/api\/([\w-]+)\//.exec(path)?.[1] ?? '';
    const at = path.replace(/\{\w+\}/, ids[kind] ?? UNKNOWN).replaceAll(/\{\w+\}/g, UNKNOWN);
    const before = [received.length, here.model.requests.length];
    await here.alice.get(at);
    if (received.length > before[0]! || here.model.requests.length > before[1]!) asked[`GET ${path}`] = received.slice(before[0]);
  }
  expect(Object.keys(asked).filter((name) => !(name in ASKS))).toEqual([]);
  // The tools of a server that is a command, which is not started.
  const connection_config = { command: 'touch', args: [`${folder}/server`] };
  const values = { name: 'command', transport_type: 'stdio', connection_config };
  const { id } = await here.alice.ok(here.alice.post('/api/mcps', values), 201);
  expect((await here.alice.get(`/api/mcps/${id}/tools`)).body).toMatchObject({ tools: [], listed_at: null });
  for (const file of ['server', 'tool']) await expect(access(join(folder, file))).rejects.toThrow(/ENOENT/);
});

it('asking for the tools of a server reaches the server, so that this test would notice it', async () => {
  const before = received.length;
  expect((await here.alice.post(`/api/mcps/${ids.mcps}/tools/refresh`)).status).toBe(502);
  expect(received.length).toBeGreaterThan(before);
});

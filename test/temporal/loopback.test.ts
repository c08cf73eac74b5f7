import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { DEMO_MODEL, startDemoModel } from '../../src/embedded/demo-model.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { startReceiver } from '../support/peers/receiver.ts';
import { until } from '../support/until.ts';

/** The setup of `npm start`: addresses that users configure may be loopback, EGRESS_ALLOW is empty, and the Temporal UI runs on the same machine. */
let here: TestInstallation;
let embeddings: Awaited<ReturnType<typeof startDemoModel>>;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
const UI = inject('temporal_ui_url');

beforeAll(async () => {
  embeddings = await startDemoModel();
  here = await startTestInstallation({
    env: { EGRESS_ALLOW: '', ALLOW_STDIO_MCP: 'true', BASH_NETWORK: 'true' },
    setting: {
      configuration_allow: ['127.0.0.0/8', '::1'],
      temporal_ui_url: UI,
      embeddings: { base_url: embeddings.url, model: DEMO_MODEL, api_key: null },
    },
  });
});
beforeEach(async () => {
  receiver = await startReceiver();
  return () => receiver.stop();
});
afterAll(async () => {
  await here?.stop();
  await embeddings?.stop();
});

const GET = (url: string, host = '127.0.0.1') => `
import urllib.request, urllib.error
NETWORK = True
def get(a: int) -> str:
    try:
        return str(urllib.request.urlopen("${url.replace('127.0.0.1', host)}", timeout=5).status)
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.reason}"
`;
const REFUSED = /not allowed from here/;

const toolResult = () => String(here.model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool')?.content);

async function used(options: Parameters<TestInstallation['workflow']>[0], name: string, args: object): Promise<string> {
  const workflow_id = await here.workflow(options);
  const tool = options?.tools ? undefined : name;
  here.model.script(
    (response, request) => asks({ name: tool ?? request.tools![0]!.function.name, args: args as never })(response, request),
    says('Done.'),
  );
  expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed' });
  return toolResult();
}

describe("what a model chooses does not reach this machine's loopback", () => {
  it.each(['127.0.0.1', 'localhost', '127.1', '[::ffff:127.0.0.1]'])('by web_fetch, as %s', async (host) => {
    const url = receiver.url.replace('127.0.0.1', host);
    expect(await used({ agent: { builtin_tools: ['web_fetch'] } }, 'web_fetch', { url })).toMatch(REFUSED);
    expect(receiver.received).toEqual([]);
  });

  it.each(['127.0.0.1', 'localhost'])('by a custom tool that declares NETWORK, as %s', async (host) => {
    expect(await used({ tools: [GET(receiver.url, host)] }, 'get', { a: 1 })).toMatch(REFUSED);
    expect(await used({ tools: [GET(UI, host)] }, 'get', { a: 1 })).toMatch(REFUSED);
    expect(receiver.received).toEqual([]);
  });

  it('by bash with BASH_NETWORK', async () => {
    const command = `exec 3<>/dev/tcp/127.0.0.1/${new URL(receiver.url).port}; echo "direct $?"
      python3 -c "import urllib.request; urllib.request.urlopen('${receiver.url}')" 2>&1 | tail -1; echo "$http_proxy" | cut -c1-4`;
    const said = await used({ agent: { builtin_tools: ['bash'] } }, 'bash', { command });
    expect(said).toContain('403');
    expect(said).not.toContain('direct 0');
    expect(receiver.received).toEqual([]);
  });

  it('by a stdio MCP server with network', async () => {
    const code = `import json, os, sys, urllib.request
try:
    urllib.request.urlopen("${receiver.url}")
    print("reached", file=sys.stderr)
except Exception as error:
    print("kept out:", error, file=sys.stderr)
sys.exit(3)`;
    const config = { command: 'python3', args: ['-c', code], env: {} };
    const values = { name: 'curious', transport_type: 'stdio', connection_config: config, network: true };
    const { id } = await here.alice.ok(here.alice.post('/api/mcps', values));
    const tested = await here.alice.ok(here.alice.post(`/api/mcps/${id}/test`));
    expect(tested.error).toContain('kept out');
    expect(receiver.received).toEqual([]);
  });
});

/** Resources that name an address, with the result of trying to reach it. */
const CONFIGURED: Record<string, (url: string) => Promise<string>> = {
  'an MCP server': async (url) => tried('mcps', { name: name(), transport_type: 'http', connection_config: { url } }),
  'an MCP server with SSE': async (url) => tried('mcps', { name: name(), transport_type: 'sse', connection_config: { url } }),
  'a knowledge source': async (url) =>
    tried('knowledge-sources', { name: name(), source_type: 'vector_db', connection_config: { url, collection: 'c' } }),
  'a pgvector source': async (url) => {
    const config = { url: url.replace('http://', 'postgres://u:p@'), table: 't' };
    return tried('knowledge-sources', { name: name(), source_type: 'pgvector', connection_config: config });
  },
  'a provider': async (url) =>
    tried('providers', { name: name(), provider_type: 'openai_compatible', base_url: url, default_model: 'm' }),
  async 'a webhook'(url) {
    const workflow_id = await here.workflow({ workflow: { webhook_url: url } });
    here.model.script(says('Done.'));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    const attempted = await until('an attempt', async () => {
      const [delivery] = (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/webhooks`))) as any[];
      return delivery?.attempts[0];
    });
    return attempted.error ?? '';
  },
};
let made = 0;
const name = () => `loopback ${++made}`;
async function tried(collection: string, values: object): Promise<string> {
  const { id } = await here.alice.ok(here.alice.post(`/api/${collection}`, values));
  return String((await here.alice.ok(here.alice.post(`/api/${collection}/${id}/test`))).error ?? '');
}

describe.each(Object.entries(CONFIGURED))('the address of %s', (what, reach) => {
  it('may be on loopback', async () => {
    expect(await reach(receiver.url)).not.toMatch(REFUSED);
    if (what !== 'a pgvector source') expect(receiver.received.length).toBeGreaterThan(0);
  });

  it("may not be a port of Perdura's own", async () => {
    const own = { ui: UI, api: here.url, engine: `http://${inject('temporal_address')}`, database: here.setting.database_url };
    for (const [server, url] of Object.entries(own)) {
      const { port } = new URL(url);
      expect(await reach(`http://127.0.0.1:${port}/x`), server).toMatch(
        /not allowed from here: the port belongs to Perdura itself/,
      );
    }
  });
});

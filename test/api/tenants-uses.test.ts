import { afterAll, beforeAll, expect, it } from 'vitest';
import { isTerminal } from '../../src/domain/statuses.ts';
import type { Client } from '../support/client.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { holdsSecret, type Matrix, startMatrix } from '../support/tenants/attempts.ts';
import { listUnexpected } from '../support/tenants/awaiting.ts';
import { type MadeTenant, PRIVATE, TAG, TOKEN, toolSource } from '../support/tenants/world.ts';
import { until } from '../support/until.ts';

/** What the fields of requests can name is used here: nothing that another principal set up or set off is sent a secret. */
let m: Matrix;
beforeAll(async () => {
  m = await startMatrix();
}, 180_000);
afterAll(() => m.stop());

const MINUTES = 240_000;
const named = `{{token:${TOKEN}}}`;

async function made(client: Client, collection: string, body: object): Promise<string | null> {
  const { status, body: answer } = await client.post(`/api/${collection}`, body);
  return status === 201 ? answer.id : null;
}

/** Things of the second tenant that name the first one's token, as far as they are taken. */
async function lures({ second, here }: Matrix) {
  const { client, trap } = second;
  const url = `${trap.url}/lure`;
  const provider = { name: 'lure_provider', provider_type: 'openai_compatible', api_key_token_name: TOKEN, default_model: 'm' };
  const source = { source_type: 'vector_db', tags: [TAG], connection_config: { url, collection: 'c', api_key: named } };
  const ids = {
    listed: await made(client, 'providers', { ...provider, base_url: url }),
    provider: await made(client, 'providers', { ...provider, name: 'lure_running', base_url: here.model.url }),
    server: await made(client, 'mcps', {
      ...{ name: 'lure_server', transport_type: 'http', tags: [TAG] },
      connection_config: { url: `${url}/mcp`, headers: { 'X-Key': named } },
    }),
    source: await made(client, 'knowledge-sources', { name: 'lure_source', ...source }),
    tool: await made(client, 'custom-tools', {
      ...{ name: 'lure_tool', source_code: toolSource('lure_tool'), env_config: { KEY: { token_name: TOKEN } } },
    }),
  };
  return ids;
}

/** Every button that reaches a target, pressed for these records. */
async function pressed(client: Client, ids: Awaited<ReturnType<typeof lures>>) {
  const answers = [
    ids.listed && (await client.post(`/api/providers/${ids.listed}/test`)),
    ids.listed && (await client.get(`/api/models?provider_id=${ids.listed}`)),
    ids.server && (await client.post(`/api/mcps/${ids.server}/test`)),
    ids.server && (await client.post(`/api/mcps/${ids.server}/tools/refresh`)),
    ids.server && (await client.get(`/api/mcps/${ids.server}/tools`)),
    ids.source && (await client.post(`/api/knowledge-sources/${ids.source}/test`)),
    ids.source && (await client.post('/api/knowledge-items/query', { query: 'x', source_ids: [ids.source] })),
    ids.tool && (await client.post(`/api/custom-tools/${ids.tool}/run`, { arguments: {} })),
  ];
  return answers.map((answer) => JSON.stringify(answer));
}

/** A run of this tenant's, with an agent made of these parts, that calls its tool if it has one. */
async function ran(tenant: MadeTenant, parts: { agent: object; workflow?: object; tool?: string }): Promise<string> {
  const { client } = tenant;
  const agent_id = await made(client, 'agents', { name: `agent_${Math.random()}`, ...parts.agent });
  const workflow = { agent_id, output_format: 'markdown', title: 'x', ...parts.workflow };
  const workflow_id = await made(client, 'workflows', workflow);
  if (!agent_id || !workflow_id) return '';
  if (parts.tool) m.here.model.script(asks({ name: parts.tool, args: {} }), says('done'));
  const { task_id } = await client.ok(client.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'x' }));
  await until('the run has ended', async () => {
    const { body } = await client.get(`/api/tasks/${task_id}`);
    return isTerminal(body.status);
  });
  // A script that was not asked for would answer somebody else.
  m.here.model.script();
  return JSON.stringify([
    (await client.get(`/api/tasks/${task_id}/steps`)).body,
    (await client.get(`/api/tasks/${task_id}`)).body,
  ]);
}

it(
  'sends no secret because of what another principal made or started',
  async () => {
    const faults: string[] = [];
    const ids = await lures(m);
    const { first, second, admin, here } = m;
    const secretless = async (what: string, work: () => Promise<string | string[]>) => {
      m.leaks();
      const answers = [await work()].flat();
      faults.push(
        ...m.leaks().map((leak) => `${what}: sent ${leak}`),
        ...answers.filter(holdsSecret).map(() => `${what}: answered with the secret`),
      );
    };
    await secretless('the second presses their own buttons', () => pressed(second.client, ids));
    await secretless('the administrator presses the buttons of the second', () => pressed(admin.client, ids));
    await secretless('the first presses the buttons of the second', () => pressed(first.client, ids));
    await secretless('a run of the second with their own provider', () => ran(second, { agent: { provider_id: ids.provider } }));
    await secretless('a run of the second with their own tool', () =>
      ran(second, { agent: { provider_id: second.ids.providers, custom_tool_ids: [ids.tool] }, tool: 'lure_tool' }),
    );
    await secretless('a run of the second with the tool of the first', () =>
      ran(second, {
        agent: { provider_id: second.ids.providers, custom_tool_ids: [first.ids['custom-tools']] },
        tool: first.names['custom-tools'] as string,
      }),
    );
    await secretless('a run of the second with everything of the first', () =>
      ran(second, {
        agent: {
          ...{ provider_id: second.ids.providers, mcp_server_ids: [first.ids.mcps], mcp_server_tags: [TAG] },
          ...{ knowledge_source_ids: [first.ids.remote_source], knowledge_tags: [TAG], builtin_tools: ['search_knowledge'] },
        },
      }),
    );
    await secretless('a run of the second with the agent of the first', async () => {
      const body = { model: first.names.agents, messages: [{ role: 'user', content: 'x' }] };
      return JSON.stringify(await second.client.post('/v1/chat/completions', body));
    });
    await secretless('a chat of the second with the agent of the first', async () =>
      String((await second.client.post(`/api/agents/${first.ids.agents}/chat`, { message: 'x' })).body),
    );
    await secretless('a run of the second with a credential of the first', () =>
      ran(second, {
        agent: { provider_id: second.ids.providers, custom_tool_ids: [second.ids['custom-tools']] },
        workflow: { credential_overrides: { KEY: TOKEN } },
        tool: second.names['custom-tools'] as string,
      }),
    );
    await secretless('a query of everybody’s sources', async () =>
      JSON.stringify(await second.client.post('/api/knowledge-items/query', { query: 'common' })),
    );
    expect(here.model.requests.length).toBeGreaterThan(3);
    expect(listUnexpected('uses', faults)).toEqual([]);
  },
  MINUTES,
);

it(
  'reaches nothing of another principal that nobody asked for',
  async () => {
    const { first, second } = m;
    const faults: string[] = [];
    // What an administrator offers by tag is everybody's.
    const sent = () => second.trap.received.splice(0);
    const quiet = (what: string) => faults.push(...sent().map((text) => `${what}: sent ${text.slice(0, 200)}`));
    sent();
    await first.client.ok(first.client.post('/api/knowledge-items/query', { query: 'common' }));
    quiet('a query without source_ids');
    await ran(first, { agent: { provider_id: first.ids.providers, mcp_server_tags: [TAG] } });
    quiet('a run whose agent takes MCP servers by tag');
    expect(listUnexpected('asked for', faults)).toEqual([]);
  },
  MINUTES,
);

it(
  'sends a secret to no address that an administrator has put in the place of its owner’s',
  async () => {
    const { first, admin } = m;
    const faults: string[] = [];
    const secret = (what: string) =>
      faults.push(
        ...admin.trap.received
          .splice(0)
          .filter(holdsSecret)
          .map((text) => `${what}: sent ${text.slice(0, 200)}`),
      );
    const url = `${admin.trap.url}/moved`;
    await admin.client.ok(admin.client.put(`/api/providers/${first.ids.listed_provider}`, { base_url: url }));
    await first.client.post(`/api/providers/${first.ids.listed_provider}/test`);
    secret('a provider that was moved');
    const { connection_config } = await first.client.ok(first.client.get(`/api/mcps/${first.ids.mcps}`));
    await admin.client.ok(
      admin.client.put(`/api/mcps/${first.ids.mcps}`, { connection_config: { ...connection_config, url: `${url}/mcp` } }),
    );
    await first.client.post(`/api/mcps/${first.ids.mcps}/test`);
    secret('an MCP server that was moved');
    const source = await first.client.ok(first.client.get(`/api/knowledge-sources/${first.ids.remote_source}`));
    const moved = { connection_config: { ...source.connection_config, url } };
    await admin.client.ok(admin.client.put(`/api/knowledge-sources/${first.ids.remote_source}`, moved));
    await first.client.post(`/api/knowledge-sources/${first.ids.remote_source}/test`);
    secret('a knowledge source that was moved');
    const tool = `/api/custom-tools/${first.ids['custom-tools']}`;
    const source_code = toolSource(first.names['custom-tools'] as string).replace('[::-1]', '[::-1] + "changed"');
    await admin.client.ok(admin.client.put(tool, { source_code }));
    const answer = JSON.stringify(await first.client.post(`${tool}/run`, { arguments: {} }));
    if (holdsSecret(answer)) faults.push('a tool whose source was changed: ran with the secret');
    expect(listUnexpected('moved', faults)).toEqual([]);
  },
  MINUTES,
);

it('does not let a session of MCP be taken over', async () => {
  const { first, second, here } = m;
  const headers = { accept: 'application/json, text/event-stream', 'mcp-session-id': 'session-of-the-first' };
  const call = (method: string, params: object, id?: number) => ({ jsonrpc: '2.0', method, params, ...(id ? { id } : {}) });
  const tools = await first.client.post('/mcp', call('tools/list', {}, 1), headers);
  const name = new RegExp(`"name":"([^"]*${(first.ids.idle_workflow as string).slice(-8)})"`).exec(
    JSON.stringify(tools.body).replaceAll('\\', ''),
  )?.[1];
  expect(name).toContain(PRIVATE);
  here.model.script(hangs());
  const asked = here.model.requests.length;
  const params = { name, arguments: { prompt: 'x' } };
  const calling = first.client.post('/mcp', call('tools/call', params, 7), headers);
  // Awaited at the end; a test that fails before must not leave this rejection unhandled.
  calling.catch(() => {});
  const running = async () => {
    const { body } = await first.client.get(`/api/workflows/${first.ids.idle_workflow}`);
    return body.status === 'running';
  };
  await until('the call runs', running);
  // The first tenant's own run sends their key to their own provider. It sends nothing more while the model hangs.
  await until('the model is asked', async () => here.model.requests.length > asked);
  m.leaks();
  const cancelled = call('notifications/cancelled', { requestId: 7 });
  const { answer } = await m.attempt(second, 'POST /mcp', { body: call('tools/call', params, 7), headers, may_change: true });
  expect(answer.text).toContain('There is no tool named');
  expect((await m.attempt(second, 'POST /mcp', { body: cancelled, headers, may_change: true })).faults).toEqual([]);
  expect(await running()).toBe(true);
  await first.client.ok(first.client.post(`/api/workflows/${first.ids.idle_workflow}/halt`));
  await calling;
});

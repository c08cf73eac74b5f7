import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NOT_CALLED, OUTCOME_UNKNOWN } from '../../src/domain/transcript.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { holdAnswer, openShop, paidIn } from '../support/runs/paying.ts';
import { until } from '../support/until.ts';
import { SERVERS } from '../tools/support.ts';

let here: TestInstallation;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-restored-'));
  here = await startTestInstallation({ env: { TOOL_ISOLATION: 'none', ALLOW_STDIO_MCP: 'true' } });
});
afterAll(async () => {
  await here.stop();
  await rm(folder, { recursive: true, force: true });
});

const sql = (text: string, ...values: unknown[]) => here.core.database.pool.query(text, values);
const logged = async (id: string, name: string) => {
  const { rows } = await sql(`SELECT data FROM events WHERE task_id = $1 AND data ->> 'event' = $2 ORDER BY seq`, id, name);
  return rows.map(({ data }) => data);
};
const waits = (id: string) =>
  until('the task waits', async () => (await here.alice.ok(here.alice.get(`/api/tasks/${id}`))).status === 'waiting');
const settleCall = (id: string, call_id: string, body: object) =>
  here.alice.ok(here.alice.post(`/api/tasks/${id}/reconciliations/${call_id}`, body));

describe('calls of a run that was in progress when the installation was restored', () => {
  /** A run that asks for the tool once, restored before the model has answered. */
  async function restored(effect: string, approval = false) {
    const shop = await openShop(here, folder, effect);
    if (approval) await here.alice.ok(here.alice.put(`/api/agents/${shop.agent_id}`, { approval_tools: [shop.name] }));
    const first = holdAnswer(shop.pay('a'));
    here.model.script(first.answer, says('Done.'));
    const task_id = await here.prompt(shop.workflow_id);
    await first.asked;
    await sql('UPDATE tasks SET restored_at = now() WHERE id = $1', task_id);
    first.release();
    return { ...shop, task_id };
  }

  it.each(['read', 'idempotent'])('are made without asking if they are %s', async (effect) => {
    const { task_id, place } = await restored(effect);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
    expect(await paidIn(place)).toEqual(['1-1 a']);
  });

  it('are asked about if they write, and made once if a person says retry', async () => {
    const { task_id, place } = await restored('write');
    await waits(task_id);
    expect(await paidIn(place)).toEqual([]);
    await settleCall(task_id, '1-1', { decision: 'retry' });
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
    expect(await paidIn(place)).toEqual(['1-1 a']);
    expect(await logged(task_id, 'reconciliation_requested')).toMatchObject([{ restored: true }]);
    // Another attempt after a decision is not asked about again.
    expect(await here.core.store.ledger.open(task_id, '1-1')).toMatchObject({ attempts: 1, restored: false });
  });

  it('are approved first', async () => {
    const { task_id, place } = await restored('write', true);
    await until('a question', async () => (await logged(task_id, 'approval_requested'))[0]);
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
    await until('another', async () => (await logged(task_id, 'reconciliation_requested'))[0]);
    expect(await paidIn(place)).toEqual([]);
    await settleCall(task_id, '1-1', { decision: 'retry' });
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
    expect(await paidIn(place)).toEqual(['1-1 a']);
    expect(await logged(task_id, 'approval_requested')).toHaveLength(1);
  });
});

describe('a call of a server that is lost, in a run that ends before the call has a result,', () => {
  /** The text that is recorded for a call that fails until its run gives up. */
  async function textOf(server: object) {
    const { id } = await here.alice.ok(here.alice.post('/api/mcps', server));
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [id], required_mcp_servers: [id] } });
    here.model.script(asks({ name: 'die' }));
    const task_id = await here.prompt(workflow_id);
    expect(await here.ended(task_id, 40_000)).toMatchObject({ status: 'failed', error_code: 'tool_unreachable' });
    const { messages } = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`));
    return messages.at(-1).content;
  }
  const stdio = (manner: string) => ({
    ...{ name: manner, transport_type: 'stdio', paths: [process.execPath, SERVERS] },
    connection_config: { command: process.execPath, args: [`${SERVERS}/odd.mjs`, manner] },
  });

  it('may have been made if the server was lost in it', async () => {
    expect(await textOf(stdio('dies'))).toBe(OUTCOME_UNKNOWN);
  });

  it('was not made if the server could not be reached', async () => {
    const { url, stop } = await listedOnce();
    expect(await textOf({ name: 'gone', transport_type: 'http', connection_config: { url } })).toBe(NOT_CALLED);
    await stop();
  });
});

/** An MCP server over HTTP that lists its tool and knows the session of no call, like one that was restarted. */
async function listedOnce() {
  const replies: Record<string, (params: any) => object> = {
    initialize: ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'x', version: '1' },
    }),
    'tools/list': () => ({ tools: [{ name: 'die', description: 'Dies', inputSchema: { type: 'object' } }] }),
  };
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = (await json(request)) as { id?: number; method: string; params: unknown };
    if (id === undefined) return void response.writeHead(202).end();
    const result = replies[method]?.(params);
    if (!result) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, it } from 'vitest';
import { serveStateless } from '../../../src/api/compat/mcp/stateless.ts';
import type { CompatServices } from '../../../src/api/compat/runs.ts';
import { createStreamBudget } from '../../../src/events/waiting.ts';
import type { Caller } from '../../../src/identity/caller.ts';

const VERSION = '2026-07-28';
const WORKFLOW = { id: '01890000-0000-7000-8000-000000000001', title: 'Sum', owner_key: 'local:alice' };
const stops: (() => unknown)[] = [];
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

/** Serves a workflow whose run does not end, and calls it. */
async function callEndlessRun(extent = async () => ({ last: 0, over: false, epoch: 0, begin_again_after: null })) {
  const closing = new AbortController();
  const begun = Promise.withResolvers<string>();
  const halted = Promise.withResolvers<string>();
  const halts: string[] = [];
  const services = {
    store: {
      workflows: { list: async () => ({ items: [WORKFLOW] }), find: async () => WORKFLOW },
      agents: { list: async () => ({ items: [] }) },
    },
    following: {
      bus: { subscribe: () => () => {} },
      log: { extent },
      waiting: createStreamBudget(),
    },
    attach: async () => [],
    dispatch: {
      prompt: async ({ task_id }: { task_id: string }) => begun.resolve(task_id),
      async halt(task_id: string) {
        halts.push(task_id);
        halted.resolve(task_id);
      },
    },
  } as unknown as CompatServices;
  const caller = { key: WORKFLOW.owner_key, login: 'alice' } as Caller;
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return response.writeHead(405).end();
    let text = '';
    for await (const part of request) text += part;
    const body = JSON.parse(text);
    return serveStateless(services, { body, caller, version: 'test', closing: closing.signal }).write(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: VERSION } } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)),
  );
  stops.push(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  const cancel = new AbortController();
  const answer = client
    .callTool({ name: `Sum_${WORKFLOW.id.slice(-8)}`, arguments: { prompt: 'Go' } }, { signal: cancel.signal })
    .catch((error: Error) => error);
  return { server, closing, answer, cancel, halts, halted: halted.promise, task_id: await begun.promise };
}

describe('a call of a client without a handshake', () => {
  it('halts its run if the client cancels it', async () => {
    const { cancel, halted, task_id } = await callEndlessRun();
    cancel.abort();
    expect(await halted).toBe(task_id);
  });

  it('fails if its run cannot be followed, and its run continues', async () => {
    const { answer, halts } = await callEndlessRun(async () => Promise.reject(new Error('A defect')));
    expect(await answer).toBeInstanceOf(Error);
    expect(halts).toEqual([]);
  });

  it('ends when the server stops, and its run continues, also after its connection was closed', async () => {
    const { server, closing, answer, halts, task_id } = await callEndlessRun();
    closing.abort();
    expect(await answer).toMatchObject({ message: expect.stringContaining(`Run ${task_id} continues`) });
    const closed = once(server, 'close');
    server.closeAllConnections();
    server.close();
    await closed;
    expect(halts).toEqual([]);
  });
});

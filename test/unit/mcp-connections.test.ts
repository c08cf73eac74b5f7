import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { PoolOptions } from '../../src/tools/mcp/pool.ts';
import { createMcpTools } from '../../src/tools/mcp/tools.ts';
import { reply, startOddHttpMcpServer } from '../support/peers/odd-http-mcp-server.ts';
import { until } from '../support/until.ts';
import { callOf, openHttpBench, serverOf } from '../tools/support.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const ask = (bench: ReturnType<typeof openHttpBench>, url: string) => {
  const server = serverOf({ id: randomUUID(), name: 'odd', transport_type: 'http', connection_config: { url } });
  const spec = { name: 'act', description: '', parameters: {}, effect: 'read' as const };
  const tools = createMcpTools(bench.ports, server, [{ server_id: server.id, tool: 'act', spec }]);
  return () => tools.call(callOf('act'), new AbortController().signal);
};

/** A server, and a way to call its tool. */
async function peerOf(options: Partial<PoolOptions>) {
  /** The server fails each check; it holds the answers to these requests. */
  const state = { is_ill: false, held: new Map<string, Promise<unknown>>() };
  const asked: string[] = [];
  const peer = await startOddHttpMcpServer((message, response, request) => {
    const { id, method } = message;
    if (state.is_ill && method === 'ping') return reply(response, id, { error: { code: -32603, message: 'I am not well' } });
    asked.push(method);
    const answer = state.held.get(method);
    if (!answer) return false;
    state.held.delete(method);
    void answer.then(() => peer.answer(message, response, request));
    return true;
  });
  const bench = openHttpBench(options);
  stops.push(peer.stop, bench.close);
  return { state, asked, peer, bench, act: ask(bench, peer.url) };
}

interface Way {
  options?: Partial<PoolOptions>;
  giveUp(at: Awaited<ReturnType<typeof peerOf>>): Promise<unknown>;
}

/** Each way in which the pool gives up a connection; the server has to learn that its session is over. */
const WAYS: Record<string, Way> = {
  'because its server fails the check before a use': {
    options: { check_after_ms: 0 },
    async giveUp({ state, act }) {
      state.is_ill = true;
      expect(await act()).toMatchObject({ content: 'acted' });
    },
  },
  'because nobody has used it for a while': { options: { idle_ms: 50 }, giveUp: async () => {} },
  'because the worker ends': { giveUp: ({ bench }) => bench.close() },
};

describe('a connection that the pool gives up', () => {
  it.each(Object.keys(WAYS))('%s is closed', async (way) => {
    const { options = {}, giveUp } = WAYS[way]!;
    const at = await peerOf(options);
    expect(await at.act()).toMatchObject({ content: 'acted' });
    const [first] = at.peer.sessions;
    await giveUp(at);
    await until('the session is ended', async () => at.peer.ended.includes(first));
    expect(at.peer.ended).toEqual([first]);
  });

  it('is closed only after the calls that still use it', async () => {
    const { state, asked, peer, act } = await peerOf({ check_after_ms: 0 });
    const answer = Promise.withResolvers<void>();
    state.held.set('tools/call', answer.promise);
    const first = act();
    await until('it is called', async () => asked.includes('tools/call'));
    const [session] = peer.sessions;
    state.is_ill = true;
    expect(await act()).toMatchObject({ content: 'acted' });
    expect([peer.sessions.size, peer.ended]).toEqual([2, []]);
    answer.resolve();
    expect(await first).toMatchObject({ content: 'acted' });
    await until('the session is ended', async () => peer.ended.includes(session));
    expect(peer.ended).toEqual([session]);
  });

  it('while it is being opened is closed once it is open', async () => {
    const { state, asked, peer, bench, act } = await peerOf({});
    const answer = Promise.withResolvers<void>();
    state.held.set('initialize', answer.promise);
    const call = act().catch((error: Error) => error);
    await until('it is opened', async () => asked.includes('initialize'));
    const closed = bench.close();
    answer.resolve();
    await Promise.all([call, closed]);
    await until('the session is ended', async () => peer.ended.length > 0);
    expect(peer.ended).toEqual([...peer.sessions]);
  });

  it('is not replaced if it passes the check', async () => {
    const { peer, act } = await peerOf({ check_after_ms: 0 });
    for (let call = 0; call < 3; call += 1) expect(await act()).toMatchObject({ content: 'acted' });
    expect([peer.sessions.size, peer.ended]).toEqual([1, []]);
  });
});

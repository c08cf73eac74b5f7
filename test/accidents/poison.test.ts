import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rebuildTexts } from '../support/client.ts';
import { asks, fails, hangs, says } from '../support/peers/model-server.ts';
import { answers, drips, events, finished, frame, POISONS } from '../support/peers/poison-model.ts';
import { failsWith, type PoisonScene, startPoisonScene } from '../support/runs/poison-scene.ts';
import { startPoisonServer } from '../tools/servers/poison.mjs';
import { SERVERS } from '../tools/support.ts';

/** Sends hostile output of models and MCP servers to a worker in a separate process. */
let scene: PoisonScene;
let poison: Awaited<ReturnType<typeof startPoisonServer>>;
beforeAll(async () => {
  scene = await startPoisonScene();
  poison = await startPoisonServer();
});
afterAll(async () => {
  await poison?.stop();
  await scene?.stop();
});

describe('a model that sends', () => {
  it.each(Object.entries(POISONS))('%s fails its run with its own error code, and is paid once', (_, poison) =>
    failsWith(scene, poison),
  );

  it('an error of a megabyte is shortened in events, however often it occurs', async () => {
    const { task, stream, requests } = await scene.run(
      Array.from({ length: 3 }, () => fails(500, { message: 'no '.repeat(300_000) })),
    );
    expect(task).toMatchObject({ status: 'failed', error_code: 'model_error' });
    expect(requests).toHaveLength(3);
    expect(JSON.stringify(stream).length).toBeLessThan(32_000);
  });

  it('nothing, is broken off as silent and asked again', async () => {
    const { task, logs } = await scene.run([hangs('Half'), says('After all.')]);
    expect(task).toMatchObject({ status: 'completed', response: 'After all.' });
    expect(logs).toContainEqual(expect.objectContaining({ event: 'retry', error_code: 'model_timeout' }));
  });

  it('an endless answer, is ended after the limit of its workflow, or else of its provider', async () => {
    const workflow_id = await scene.does.workflow({ workflow: { model_total_seconds: 1 } });
    const { agent_id } = await scene.user.ok(scene.user.get(`/api/workflows/${workflow_id}`));
    const { provider_id } = await scene.user.ok(scene.user.get(`/api/agents/${agent_id}`));
    await scene.user.ok(scene.user.put(`/api/providers/${provider_id}`, { model_total_seconds: 3 }));
    const said = async () => {
      scene.here.model.script(drips);
      return (await scene.does.ended(await scene.does.prompt(workflow_id))).error as string;
    };
    expect(await said()).toContain('had not ended after 1 s');
    await scene.user.ok(scene.user.put(`/api/workflows/${workflow_id}`, { model_total_seconds: null }));
    expect(await said()).toContain('had not ended after 3 s');
  });

  it('null characters and invalid numbers, is still read', async () => {
    const usage = '{"prompt_tokens":1e400,"completion_tokens":-5}';
    const odd = JSON.parse(frame({ content: 'a\0b' }).slice('data: '.length));
    const script = events(
      `data: ${JSON.stringify({ ...odd, model: 'mo\0del' })}\n\n`,
      finished('st\0op'),
      `data: {"choices":[],"usage":${usage}}\n\n`,
    );
    const { task, requests } = await scene.run([script]);
    expect(task).toMatchObject({ status: 'completed', response: 'a\uFFFDb', error: null });
    expect(task.usage).toMatchObject({ total_in: 1e8, total_out: 0 });
    expect(requests).toHaveLength(1);
  });

  it('a character in two deltas, is emitted as it is recorded', async () => {
    const script = events(frame({ content: 'x\uD83D' }), frame({ content: '\uDE00y' }), frame({ content: '\uD83D' }), finished());
    const { task, stream } = await scene.run([script]);
    expect(task.response).toBe('x😀y\uFFFD');
    const deltas = stream.filter(({ type }) => type === 'message_delta').map(({ data }) => data.delta);
    expect(deltas.join('')).toBe(task.response);
    expect(rebuildTexts(stream).texts).toEqual([task.response]);
  });

  it.each(['0', '-5', 'soon', '1e12', '3600', new Date(Date.now() + 86_400_000).toUTCString(), new Date(0).toUTCString()])(
    'Retry-After: %s, is asked again within the limit',
    async (after) => {
      const { task, logs } = await scene.run([answers(429, { 'retry-after': after }, '{}'), says('ok')]);
      expect(task).toMatchObject({ status: 'completed', response: 'ok' });
      const { wait_ms, detail } = logs.find(({ event }) => event === 'rate_limited')!;
      expect(wait_ms).toBeGreaterThan(0);
      expect(wait_ms).toBeLessThanOrEqual(1_000);
      expect(detail).toContain(`asking again in ${(wait_ms / 1_000).toFixed(1)} s`);
    },
  );
});

let made = 0;
async function server(way: string, manner: string): Promise<string> {
  const config =
    way === 'stdio'
      ? { command: process.execPath, args: [`${SERVERS}/poison.mjs`, manner] }
      : { url: `${poison.url}/${way}/${manner}` };
  const place = way === 'stdio' ? { paths: [process.execPath, SERVERS] } : {};
  const transport_type = way === 'stdio' ? 'stdio' : 'http';
  const values = { name: `poison${++made}`, transport_type, connection_config: config, ...place };
  return (await scene.user.ok(scene.user.post('/api/mcps', values))).id as string;
}

describe.each(['stdio', 'http', 'sse'])('an MCP server over %s that sends', (way) => {
  it.each([
    ['long-answer', /^mcp_answer_too_large: The MCP server \w+ made the call/],
    ['deep-answer', /nested too deep, not shown/],
    ['odd-answer', /a\uFFFDb\uFFFD/],
    ['many-parts', /^x\nx/],
    ['long-error', /answered with an error: .*x{100}/],
  ])('a %s gets its call answered for the model, which continues', async (manner, said) => {
    const mcp_server_ids = [await server(way, manner)];
    const { task, requests } = await scene.run([asks({ name: 'look' }), says('ok')], { agent: { mcp_server_ids } });
    expect(task).toMatchObject({ status: 'completed', response: 'ok' });
    const result = requests[1]?.messages.at(-1)?.content ?? '';
    expect(result).toMatch(said);
    expect(result.length).toBeLessThan(300_000);
    await scene.isWell();
  });

  it('50,000 tools is refused with an error code: a run continues without it, and fails unpaid if the server is required', async () => {
    const id = await server(way, 'many-tools');
    const without = await scene.run([says('ok')], { agent: { mcp_server_ids: [id] } });
    expect(without.task).toMatchObject({ status: 'completed' });
    expect(without.logs.find(({ event }) => event === 'mcp_error')?.detail).toContain('mcp_listing_too_large');
    const within = await scene.run([], { agent: { required_mcp_servers: [id] } });
    expect(within.task).toMatchObject({ status: 'failed', error_code: 'mcp_listing_too_large' });
    expect(within.requests).toHaveLength(0);
  });

  it.each(['long-names', 'deep-schema'])('%s gets its other tools offered', async (manner) => {
    const { task, requests } = await scene.run([says('ok')], { agent: { mcp_server_ids: [await server(way, manner)] } });
    expect(task).toMatchObject({ status: 'completed' });
    expect(requests[0]?.tools?.map((tool) => tool.function.name)).toEqual(['look']);
  });
});

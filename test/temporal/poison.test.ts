import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import { rebuilt } from '../support/client.ts';
import { helpers, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Answer, asks, fails, hangs, says } from '../support/model-server.ts';
import { answers, drips, events, finished, frame, POISONS } from '../support/poison-model.ts';
import { type Child, startFloorService } from '../support/processes.ts';
import { startPoisonServer } from '../tools/servers/poison.mjs';
import { SERVERS } from '../tools/support.ts';

/** Sends hostile output of models and MCP servers to a worker in a separate process. */
let here: TestInstallation;
let service: Child;
let user: Client;
let does: ReturnType<typeof helpers>;
let poison: Awaited<ReturnType<typeof startPoisonServer>>;

const TIMES = { MODEL_TOTAL_SECONDS: '8', MODEL_SILENCE_SECONDS: '2', MODEL_RETRY_AFTER_MAX_SECONDS: '1' };
/** One answer at its largest, parsed, and what Node has not collected of those before. */
const MOST_GROWTH_MB = 700;
let resting_mb = 0;

/** The most that the worker ever had, as the system counts it. */
const peakMb = () => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))![1]) / 1_024;

beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
  poison = await startPoisonServer();
  const { api, client } = await startFloorService(here.setting, { ...TIMES, ALLOW_STDIO_MCP: 'true', MCP_PATHS: '/:rw' });
  [service, user, does] = [api, client, helpers(client, here.model)];
  here.model.script(says('warm'));
  await does.ended(await does.prompt(await does.workflow()), 60_000);
  resting_mb = peakMb();
});
afterAll(async () => {
  await service?.end('SIGTERM');
  await poison?.stop();
  await here.stop();
});

const live = async () => (await user.get('/health/live')).status;

/** Runs a workflow whose model gives these answers. Returns the task, its events and the requests that the model received. */
async function run(script: Answer[], options: Parameters<typeof does.workflow>[0] = {}) {
  const before = here.model.requests.length;
  here.model.script(...script);
  const workflow_id = await does.workflow(options);
  const task_id = await does.prompt(workflow_id);
  const task = await does.ended(task_id, 60_000);
  const stream = await user.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}&after=0`);
  const logs = stream.filter(({ type }) => type === 'log').map(({ data }) => data);
  return { task, stream, logs, requests: here.model.requests.slice(before) };
}

describe('a model that sends', () => {
  it.each(Object.entries(POISONS))(
    '%s fails its run with its own error code, and is paid once',
    async (_, [answer, error_code]) => {
      const { task, stream, requests } = await run([answer, ...(error_code === 'model_stream_cut' ? [answer, answer] : [])]);
      expect(task).toMatchObject({ status: 'failed', error_code });
      expect(task.error).toMatch(/^The /);
      expect(requests).toHaveLength(error_code === 'model_stream_cut' ? 3 : 1);
      expect(JSON.stringify([task, stream]).length).toBeLessThan(64_000);
      expect(await live()).toBe(200);
      expect(peakMb() - resting_mb).toBeLessThan(MOST_GROWTH_MB);
    },
  );

  it('an error of a megabyte is shortened in events, however often it occurs', async () => {
    const { task, stream, requests } = await run(Array.from({ length: 3 }, () => fails(500, { message: 'no '.repeat(300_000) })));
    expect(task).toMatchObject({ status: 'failed', error_code: 'model_error' });
    expect(requests).toHaveLength(3);
    expect(JSON.stringify(stream).length).toBeLessThan(32_000);
  });

  it('nothing, is broken off as silent and asked again', async () => {
    const { task, logs } = await run([hangs('Half'), says('After all.')]);
    expect(task).toMatchObject({ status: 'completed', response: 'After all.' });
    expect(logs).toContainEqual(expect.objectContaining({ event: 'retry', error_code: 'model_timeout' }));
  });

  it('an endless answer, is ended after the limit of its workflow, or else of its provider', async () => {
    const workflow_id = await does.workflow({ workflow: { model_total_seconds: 1 } });
    const { agent_id } = await user.ok(user.get(`/api/workflows/${workflow_id}`));
    const { provider_id } = await user.ok(user.get(`/api/agents/${agent_id}`));
    await user.ok(user.put(`/api/providers/${provider_id}`, { model_total_seconds: 3 }));
    const said = async () => {
      here.model.script(drips);
      return (await does.ended(await does.prompt(workflow_id))).error as string;
    };
    expect(await said()).toContain('had not ended after 1 s');
    await user.ok(user.put(`/api/workflows/${workflow_id}`, { model_total_seconds: null }));
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
    const { task, requests } = await run([script]);
    expect(task).toMatchObject({ status: 'completed', response: 'a\uFFFDb', error: null });
    expect(task.usage).toMatchObject({ total_in: 1e8, total_out: 0 });
    expect(requests).toHaveLength(1);
  });

  it('a character in two deltas, is emitted as it is recorded', async () => {
    const script = events(frame({ content: 'x\uD83D' }), frame({ content: '\uDE00y' }), frame({ content: '\uD83D' }), finished());
    const { task, stream } = await run([script]);
    expect(task.response).toBe('x😀y\uFFFD');
    const deltas = stream.filter(({ type }) => type === 'message_delta').map(({ data }) => data.content);
    expect(deltas.join('') || task.response).toBe(task.response);
    expect(rebuilt(stream).texts).toEqual([task.response]);
  });

  it.each(['0', '-5', 'soon', '1e12', '3600', new Date(Date.now() + 86_400_000).toUTCString(), new Date(0).toUTCString()])(
    'Retry-After: %s, is asked again within the limit',
    async (after) => {
      const { task, logs } = await run([answers(429, { 'retry-after': after }, '{}'), says('ok')]);
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
  return (await user.ok(user.post('/api/mcps', values))).id as string;
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
    const { task, requests } = await run([asks({ name: 'look' }), says('ok')], { agent: { mcp_server_ids } });
    expect(task).toMatchObject({ status: 'completed', response: 'ok' });
    const result = requests[1]?.messages.at(-1)?.content ?? '';
    expect(result).toMatch(said);
    expect(result.length).toBeLessThan(300_000);
    expect(await live()).toBe(200);
    expect(peakMb() - resting_mb).toBeLessThan(MOST_GROWTH_MB);
  });

  it('50,000 tools is refused with an error code: a run continues without it, and fails unpaid if the server is required', async () => {
    const id = await server(way, 'many-tools');
    const without = await run([says('ok')], { agent: { mcp_server_ids: [id] } });
    expect(without.task).toMatchObject({ status: 'completed' });
    expect(without.logs.find(({ event }) => event === 'mcp_error')?.detail).toContain('mcp_listing_too_large');
    const within = await run([], { agent: { required_mcp_servers: [id] } });
    expect(within.task).toMatchObject({ status: 'failed', error_code: 'mcp_listing_too_large' });
    expect(within.requests).toHaveLength(0);
  });

  it.each(['long-names', 'deep-schema'])('%s gets its other tools offered', async (manner) => {
    const { task, requests } = await run([says('ok')], { agent: { mcp_server_ids: [await server(way, manner)] } });
    expect(task).toMatchObject({ status: 'completed' });
    expect(requests[0]?.tools?.map((tool) => tool.function.name)).toEqual(['look']);
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { rebuildTexts } from '../support/client.ts';
import { says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';
import { onScene, type Scene } from './scene.ts';

const { values } = parseArgs({
  options: { readers: { type: 'string', default: '2000' }, workflows: { type: 'string', default: '1' } },
});
const [readers, workflows] = [Number(values.readers), Number(values.workflows)];

/** Streamed in deltas of 4,000 characters. */
const TEXT = Array.from({ length: 1_000 }, (_, index) => `${index}-`.padEnd(3_999, String(index % 10))).join(' ');
const MB = 1024 * 1024;
const MOST_MB = 300;
const MOST_LIVE_MS = 250;

/** Opens streams that nobody reads while runs write a long text: measures the API's memory and the time that `live` takes. */
const env = { STREAMS_PER_PRINCIPAL: '100000', STREAMS_OPEN: '100000' };
await onScene({ workers: 1, env }, async (scene) => {
  const { model, client, token, made, provider_id, urls, say } = scene;
  model.always(says(TEXT));
  const agent_id = await made('/api/agents', { name: 'long', provider_id });
  const ids: string[] = [];
  for (let index = 0; index < workflows; index += 1)
    ids.push(await made('/api/workflows', { agent_id, output_format: 'markdown' }));
  const before = await memory(scene);
  const sockets: Socket[] = [];
  for (let index = 0; index < readers; index += 1) sockets.push(await unreadStream(urls[0]!, token, ids[index % workflows]!));
  say(`the API uses ${before} MB; with ${readers} streams of ${workflows} workflows: +${(await memory(scene)) - before} MB`);
  const watch = watchLive(`${urls[0]}/health/live`);
  const most = watchMemory(scene);
  const waiting: number[] = [];
  const sampling = setInterval(async () => waiting.push(await metric(scene, 'perdura_stream_bytes_waiting')), 500);
  const tasks = await Promise.all(
    ids.map((id) => client.ok(client.post(`/api/workflows/${id}/prompt`, { prompt: 'Write.' }), 201)),
  );
  const [last] = tasks.slice(-1);
  const read = await client.events(`/api/workflows/${last!.workflow_id}/stream?task_id=${last!.task_id}`, {
    timeout_ms: 400_000,
  });
  assert.ok(rebuildTexts(read).texts.at(-1) === TEXT, 'a client that reads gets another text');
  for (const { task_id } of tasks)
    await until('every run has ended', async () => (await client.ok(client.get(`/api/tasks/${task_id}`))).completed_at, 400_000);
  await wait(5_000);
  const grown = (await most.stop()) - before;
  const live = await watch.stop();
  clearInterval(sampling);
  say(
    `the runs wrote ${Math.round((workflows * TEXT.length) / MB)} MB: +${grown} MB at most, ${Math.round(Math.max(...waiting) / MB)} MB of it waited`,
  );
  say(`live took ${live.median} ms, at most ${live.most} ms`);
  const left = await until('all were cut', async () => (await open(scene)) === 0 && 'none', 120_000).catch(() => open(scene));
  say(`streams left: ${left}; +${(await memory(scene)) - before} MB`);
  for (const socket of sockets) socket.destroy();
  assert.ok(grown <= MOST_MB, `more than ${MOST_MB} MB`);
  assert.ok(live.most < MOST_LIVE_MS, `live took more than ${MOST_LIVE_MS} ms`);
});

/** A stream whose client takes nothing. */
async function unreadStream(url: string, token: string, workflow_id: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname)
    .pause()
    .on('error', () => {});
  await once(socket, 'connect');
  socket.write(`GET /api/workflows/${workflow_id}/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`);
  return socket;
}

async function metric({ urls }: Pick<Scene, 'urls'>, name: string): Promise<number> {
  const metrics = await (await fetch(`${urls[0]}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
}

function open(scene: Scene): Promise<number> {
  return metric(scene, 'perdura_streams_open');
}

/** The resident memory of the API in MB. */
async function memory(scene: Scene): Promise<number> {
  return Math.round((await metric(scene, 'process_resident_memory_bytes')) / MB);
}

function watchMemory(scene: Scene) {
  let most = 0;
  const timer = setInterval(async () => {
    most = Math.max(most, await memory(scene).catch(() => 0));
  }, 500);
  return {
    async stop() {
      clearInterval(timer);
      return Math.max(most, await memory(scene));
    },
  };
}

function watchLive(url: string) {
  const took: number[] = [];
  let stopped = false;
  const watching = (async () => {
    while (!stopped) {
      const start = performance.now();
      await (await fetch(url)).text();
      took.push(Math.round(performance.now() - start));
      await wait(100);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await watching;
      took.sort((a, b) => a - b);
      return { median: took[Math.floor(took.length / 2)], most: took.at(-1)! };
    },
  };
}

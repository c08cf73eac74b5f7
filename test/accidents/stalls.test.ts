import { afterEach, expect, inject, it } from 'vitest';
import { rebuildTexts } from '../support/client.ts';
import { testDatabase } from '../support/database/database.ts';
import { helpers, startTestInstallation } from '../support/installation.ts';
import { startApiProcess, startWorkerProcess } from '../support/machine/processes.ts';
import { type DroppingProxy, outerAddress, startDroppingProxy, throughProxy } from '../support/peers/dropping-proxy.ts';
import { type Answer, asks, says } from '../support/peers/model-server.ts';
import { redisIsInstalled, redisServer } from '../support/peers/redis.ts';

/** The goal is 5 s. The rest is for a busy machine. */
const LONGEST_STALL_MS = 10_000;
const TEXT = Array.from({ length: 120 }, (_, index) => `word${index}`).join(' ');
const PAUSE_MS = 250;
/** Answers and calls take turns every tenth of a second or so: each is work that the engine gives out. */
const STEPS: Answer[] = Array.from({ length: 60 }, () => asks({ name: 'manage_todo_list', args: { todoList: [] } }));

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const held = <T>(it: T, end: (it: T) => Promise<unknown>): T => {
  endings.push(() => end(it));
  return it;
};

type Peer = 'postgres' | 'temporal' | 'redis';
type Proxies = Record<Peer, DroppingProxy>;

/** An API server and two workers as separate processes, each with separate proxies to its servers. */
async function separated({ redis, host }: { redis: boolean; host: string | undefined }) {
  const database = held(await testDatabase(), (it) => it.drop());
  const bus = redis ? held(await redisServer(), (it) => it.stop()) : null;
  const targets = {
    postgres: inject('postgres_url'),
    temporal: `http://${inject('temporal_address')}`,
    redis: bus?.url ?? 'redis://127.0.0.1:1',
  };
  const here = held(await startTestInstallation({ worker: false, setting: { database_url: database.url } }), (it) => it.stop());
  const proxied = async () => {
    const proxies = {} as Proxies;
    for (const [peer, target] of Object.entries(targets)) {
      const proxy = held(await startDroppingProxy(target, peer === 'temporal' ? host : undefined), (it) => it.stop());
      endings.push(async () => proxy.speak());
      proxies[peer as Peer] = proxy;
    }
    const temporal_address = new URL(proxies.temporal.url).host;
    const setting = { ...here.setting, database_url: throughProxy(database.url, proxies.postgres), temporal_address };
    const env: Record<string, string> = bus ? { REDIS_URL: throughProxy(bus.url, proxies.redis) } : {};
    return { proxies, setting, env };
  };
  const [door, first, second] = [await proxied(), await proxied(), await proxied()];
  const { api, client } = await startApiProcess(door.setting, door.env);
  endings.push(() => api.end('SIGKILL'));
  for (const { setting, env } of [first, second]) held(await startWorkerProcess(setting, env), (it) => it.end('SIGKILL'));
  return { here, client, api: door.proxies, workers: [first.proxies, second.proxies] };
}

interface Case {
  name: string;
  redis?: boolean;
  /** The model calls a tool in each of many short steps before it speaks. */
  steps?: boolean;
  cut(of: { api: Proxies; workers: Proxies[] }): void;
}

const CASES: Case[] = [
  { name: "the API's LISTEN", cut: ({ api }) => api.postgres.silence({ saying: 'perdura events', fresh: true }) },
  { name: "the API's pool", cut: ({ api }) => api.postgres.silence() },
  { name: "the workers' pools", cut: ({ workers }) => workers.forEach(({ postgres }) => void postgres.silence()) },
  { name: "the API's Redis", redis: true, cut: ({ api }) => api.redis.silence({ fresh: true }) },
  {
    name: "the workers' Redis",
    redis: true,
    cut: ({ workers }) => workers.forEach(({ redis }) => void redis.silence({ fresh: true })),
  },
  { name: "the API's Temporal", cut: ({ api }) => api.temporal.silence() },
  {
    name: "the workers' Temporal",
    cut: ({ workers }) => workers.forEach(({ temporal }) => void temporal.silence()),
  },
  {
    name: "the workers' Temporal in short steps",
    steps: true,
    cut: ({ workers }) => workers.forEach(({ temporal }) => void temporal.silence()),
  },
];

it.for(CASES)(
  '$name is silent: the longest stall of a stream is measured, and its text is whole',
  { timeout: 240_000 },
  async ({ name, redis = false, steps = false, cut }, test) => {
    if (redis && !redisIsInstalled()) return test.skip('redis-server is not installed');
    // As on another machine: on loopback a worker expects no silence.
    const host = outerAddress();
    if (!host) return test.skip('this machine has no address besides loopback');
    const { here, client, api, workers } = await separated({ redis, host });
    if (steps) here.model.script(...STEPS);
    const text = steps ? 'Done.' : TEXT;
    here.model.always(says(text, { pause_ms: PAUSE_MS }));
    const does = helpers(client, here.model);
    const agent = { builtin_tools: ['manage_todo_list'] };
    const workflow_id = await does.workflow({ agent, workflow: { max_turns: STEPS.length } });
    const task_id = await does.prompt(workflow_id);
    let last = 0;
    let longest = 0;
    let counted = 0;
    const mark = steps ? 'tool_result' : 'message_delta';
    const seen = ({ type, data }: { type: string; data: Record<string, unknown> }) => {
      const now = Date.now();
      if (last > 0) longest = Math.max(longest, now - last);
      last = now;
      if ([type, data.event].includes(mark)) {
        counted += 1;
        if (counted === 10) cut({ api, workers });
      }
      return false;
    };
    const events = await client.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
      enough: seen,
      timeout_ms: 200_000,
    });
    console.log(`${name} is silent: longest stall of the stream ${(longest / 1_000).toFixed(1)} s`);
    const { texts, unfinished } = rebuildTexts(events);
    expect([...texts.filter(Boolean), unfinished]).toEqual([text, '']);
    expect(longest).toBeLessThan(LONGEST_STALL_MS);
  },
);

import { rm } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { folderOfRun } from '../support/harness/run-mark.ts';
import { chaos } from './chaos.ts';
import { messageChaos } from './messages.ts';

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    seed: { type: 'string' },
    kills: { type: 'string' },
    minutes: { type: 'string' },
    workers: { type: 'string', default: '3' },
    apis: { type: 'string', default: '2' },
    clients: { type: 'string', default: '12' },
    pace: { type: 'string' },
    'held-up': { type: 'string' },
    silent: { type: 'string' },
    only: { type: 'string' },
    bus: { type: 'string' },
    messages: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});

// On a signal, its servers and processes are stopped; otherwise they would be left behind.
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
// Of two seeds one has Redis as the bus, so that both are tested.
const bus = values.bus ?? (seed % 2 === 1 ? 'redis' : 'postgres');

const home = await folderOfRun('perdura-chaos-');
try {
  const options = {
    home,
    seed,
    kills: Number(values.kills ?? (values.short ? 60 : 1_000)),
    minutes: Number(values.minutes ?? (values.short ? 0.75 : 60)),
    workers: Number(values.workers),
    apis: Number(values.apis),
    clients: Number(values.clients),
    pace_ms: Number(values.pace ?? (values.short ? 800 : 1_000)),
    held_up_ms: Number(values['held-up'] ?? (values.short ? 6_000 : 20_000)),
    silent_ms: Number(values.silent ?? (values.short ? 6_000 : 60_000)),
    only: values.only?.split(',') ?? null,
    redis: bus === 'redis',
    verbose: values.verbose,
    stop: stop.signal,
  };
  const violations = values.messages
    ? await messageChaos({ ...options, messages: Number(values.messages) })
    : await chaos(options);
  process.exitCode = violations > 0 ? 1 : 0;
} finally {
  if (process.exitCode) console.log(`Its databases and files are kept in ${home}`);
  else await rm(home, { recursive: true, force: true, maxRetries: 5 });
}

/** Everything was stopped: what keeps this process alive was forgotten. */
const ALIVE_MS = 10_000;
setTimeout(() => {
  console.error(`This process does not end: ${process.getActiveResourcesInfo().join(', ')} left open`);
  process.exit(1);
}, ALIVE_MS).unref();

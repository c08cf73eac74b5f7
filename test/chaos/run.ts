import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chaos } from './chaos.ts';

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
    verbose: { type: 'boolean', default: false },
  },
});

// On a signal, its servers and processes are stopped; otherwise they would be left behind.
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const home = await mkdtemp(join(tmpdir(), 'perdura-chaos-'));
try {
  const violations = await chaos({
    home,
    seed: Number(values.seed ?? Math.floor(Math.random() * 2 ** 31)),
    kills: Number(values.kills ?? (values.short ? 60 : 1_000)),
    minutes: Number(values.minutes ?? (values.short ? 0.75 : 60)),
    workers: Number(values.workers),
    apis: Number(values.apis),
    clients: Number(values.clients),
    pace_ms: Number(values.pace ?? (values.short ? 800 : 1_000)),
    held_up_ms: Number(values['held-up'] ?? (values.short ? 6_000 : 20_000)),
    verbose: values.verbose,
    stop: stop.signal,
  });
  process.exitCode = violations > 0 ? 1 : 0;
} finally {
  await rm(home, { recursive: true, force: true });
}

import { setTimeout as wait } from 'node:timers/promises';
import type { Fleet, Member } from './fleet.ts';
import type { Random } from './random.ts';
import type { ChaosServers } from './servers.ts';
import type { Tools } from './tools.ts';

export type Fault = 'worker' | 'api' | 'tool' | 'worker held up' | 'api held up' | 'postgres' | 'temporal' | 'client dropped';
export type Counts = Record<Fault, number>;

/** kill -9 of something; the rest hold up or cut. */
export const KILLS: Fault[] = ['worker', 'api', 'tool', 'postgres', 'temporal'];

export const noFaults = (): Counts => ({
  ...{ worker: 0, api: 0, tool: 0, 'worker held up': 0, 'api held up': 0, postgres: 0, temporal: 0, 'client dropped': 0 },
});

/** How often each comes, of one thousand. */
const WEIGHTS: [Fault, number][] = [
  ['worker', 300],
  ['api', 200],
  ['tool', 380],
  ['worker held up', 50],
  ['api held up', 20],
  ['postgres', 25],
  ['temporal', 25],
];

export interface FaultOptions {
  fleet: Fleet;
  servers: ChaosServers;
  tools: Tools;
  random: Random;
  counts: Counts;
  /** Milliseconds between two faults, on average. */
  pace_ms: number;
  log(line: string): void;
}

/** Faults in the order of the seed until the signal; whatever was held up goes on afterwards. */
export async function injectFaults(options: FaultOptions, signal: AbortSignal): Promise<void> {
  const { random, counts, pace_ms, log } = options;
  const held = new Set<Promise<void>>();
  while (!signal.aborted) {
    await wait(random.between(0.3, 1.7) * pace_ms, undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    const fault = drawn(random);
    if (await inflict(fault, options, held)) {
      counts[fault] += 1;
      log(`fault: ${fault}`);
    }
  }
  await Promise.all(held);
}

function drawn(random: Random): Fault {
  const place = random.int(1_000);
  let sum = 0;
  for (const [fault, weight] of WEIGHTS) {
    sum += weight;
    if (place < sum) return fault;
  }
  return 'worker';
}

/** False when there was nothing to do it to. */
async function inflict(
  fault: Fault,
  { fleet, servers, tools, random }: FaultOptions,
  held: Set<Promise<void>>,
): Promise<boolean> {
  switch (fault) {
    case 'worker':
      return random.pick(fleet.workers).signal('SIGKILL');
    case 'api':
      return random.pick(fleet.apis).signal('SIGKILL');
    case 'tool':
      return tools.killOne();
    case 'worker held up':
      return holdUp(random.pick(fleet.workers), random.between(2_000, 20_000), held);
    case 'api held up':
      return holdUp(random.pick(fleet.apis), random.between(500, 5_000), held);
    case 'postgres':
    case 'temporal':
      servers.kill(fault);
      await wait(random.between(0, 3_000));
      await servers.start(fault);
      return true;
    default:
      return false;
  }
}

function holdUp(member: Member, ms: number, held: Set<Promise<void>>): boolean {
  if (!member.signal('SIGSTOP')) return false;
  const pid = member.pid();
  const going = wait(ms).then(() => {
    if (member.pid() === pid) member.signal('SIGCONT');
    held.delete(going);
  });
  held.add(going);
  return true;
}

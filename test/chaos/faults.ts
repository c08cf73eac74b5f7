import { setTimeout as wait } from 'node:timers/promises';
import type { Fleet, Member } from './fleet.ts';
import type { Random } from './random.ts';
import type { Recovery } from './recovery.ts';
import type { ChaosServers, Server } from './servers.ts';
import type { Tools } from './tools.ts';

/** kill -9 of a running process. */
export const KILLS = ['worker', 'api', 'tool', 'mcp server', 'postgres', 'temporal'] as const;
/** Faults that pause a process or cut a connection. */
const OTHERS = ['worker held up', 'api held up', 'postgres stalled', 'temporal stalled', 'client dropped'] as const;

export type Fault = (typeof KILLS)[number] | (typeof OTHERS)[number];
export type Counts = Record<Fault, number>;

export const noFaults = () => Object.fromEntries([...KILLS, ...OTHERS].map((fault) => [fault, 0])) as Counts;
export const killsIn = (counts: Counts) => KILLS.reduce((sum, kind) => sum + counts[kind], 0);

/** Draws faults like cards from a deck that is reshuffled when empty, so that each kind occurs as often as intended. */
const PACK: [Fault, number][] = [
  ['tool', 12],
  ['mcp server', 6],
  ['worker', 4],
  ['api', 3],
  ['postgres', 1],
  ['temporal', 1],
  ['worker held up', 1],
  ['api held up', 1],
  ['postgres stalled', 1],
  ['temporal stalled', 1],
];

export interface FaultOptions {
  fleet: Fleet;
  servers: ChaosServers;
  tools: Tools;
  recovery: Recovery;
  random: Random;
  counts: Counts;
  /** The average number of milliseconds between two faults. */
  pace_ms: number;
  /** The longest pause of a worker. */
  held_up_ms: number;
  log(line: string): void;
}

/** Injects faults in the order of the seed until the signal. Resolves when every paused process runs again. */
export async function injectFaults(options: FaultOptions, signal: AbortSignal): Promise<void> {
  const { random, counts, pace_ms, log } = options;
  const held = new Set<Promise<void>>();
  let pack: Fault[] = [];
  while (!signal.aborted) {
    await wait(random.between(0.3, 1.7) * pace_ms, undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    if (pack.length === 0) pack = random.shuffled(PACK.flatMap(([fault, count]) => Array<Fault>(count).fill(fault)));
    const fault = pack.pop()!;
    const happened = await inflict(fault, options, held);
    if (happened) counts[fault] += 1;
    log(`fault: ${fault}${happened ? '' : ' (nothing to do it to)'}`);
  }
  await Promise.all(held);
}

/** False if the fault had no target. */
async function inflict(fault: Fault, options: FaultOptions, held: Set<Promise<void>>): Promise<boolean> {
  const { fleet, tools, recovery, random, held_up_ms } = options;
  switch (fault) {
    case 'worker': {
      const worker = random.pick(fleet.workers);
      const pid = worker.pid();
      return worker.signal('SIGKILL') && recovery.lost(pid);
    }
    case 'api':
      return random.pick(fleet.apis).signal('SIGKILL');
    case 'tool':
      return patiently(tools.killOne);
    case 'mcp server':
      return patiently(tools.killServer);
    case 'worker held up':
      return holdUp(random.pick(fleet.workers), random.between(2_000, held_up_ms), held);
    case 'api held up':
      return holdUp(random.pick(fleet.apis), random.between(500, 5_000), held);
    case 'postgres':
    case 'temporal':
      return restart(fault, options);
    case 'postgres stalled':
    case 'temporal stalled':
      await options.servers.stall(fault === 'postgres stalled' ? 'postgres' : 'temporal', random.between(500, 3_000));
      return true;
    default:
      return false;
  }
}

async function restart(which: Server, { servers, random, recovery }: FaultOptions): Promise<boolean> {
  const pause = random.between(0, 3_000);
  const from = Date.now();
  if (!servers.kill(which)) return false;
  await wait(pause);
  await servers.start(which);
  recovery.away(from, Date.now());
  return true;
}

const LOOKS = 15;

/** Retries the kill for a while, because tools run only now and then. */
async function patiently(kill: () => Promise<boolean>): Promise<boolean> {
  for (let look = 0; look < LOOKS; look += 1) {
    if (await kill()) return true;
    await wait(100);
  }
  return false;
}

function holdUp(member: Member, ms: number, held: Set<Promise<void>>): boolean {
  const pid = member.pid();
  if (!member.signal('SIGSTOP')) return false;
  const going = wait(ms).then(() => {
    if (member.pid() === pid) member.signal('SIGCONT');
    held.delete(going);
  });
  held.add(going);
  return true;
}

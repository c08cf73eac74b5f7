import { setTimeout as wait } from 'node:timers/promises';
import type { Fleet } from './fleet.ts';
import type { Harm } from './harm.ts';
import { type Lasting, lastingFaults } from './lasting.ts';
import type { ChaosModel } from './model.ts';
import type { Random } from './random.ts';
import type { Recovery } from './recovery.ts';
import type { ChaosServers, Server } from './servers.ts';
import type { Tools } from './tools.ts';

/** kill -9 of a running process. */
export const KILLS = ['worker', 'api', 'tool', 'mcp server', 'postgres', 'temporal', 'redis'] as const;
/** Faults that pause or starve a process, cut a connection or falsify an answer. */
const OTHERS = [
  'worker held up',
  'api held up',
  'postgres stalled',
  'temporal stalled',
  'redis stalled',
  'redis flushed',
  'connection silent',
  'connections used up',
  'disk full',
  'model poisoned',
  'client dropped',
] as const;

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
  ['connection silent', 3],
  ['model poisoned', 3],
  ['postgres', 1],
  ['temporal', 1],
  ['redis', 1],
  ['worker held up', 1],
  ['api held up', 1],
  ['postgres stalled', 1],
  ['temporal stalled', 1],
  ['redis stalled', 1],
  ['redis flushed', 1],
  ['connections used up', 1],
  ['disk full', 1],
];

/** The cards that are played: all that this machine allows, or those that are named. */
function deckOf({ harm, only }: Pick<FaultOptions, 'harm' | 'only'>): Fault[] {
  const allowed = PACK.filter(([fault]) => !harm.left_out.has(fault) && (!only || only.includes(fault)));
  return allowed.flatMap(([fault, count]) => Array<Fault>(count).fill(fault));
}

export interface FaultOptions {
  fleet: Fleet;
  servers: ChaosServers;
  harm: Harm;
  model: ChaosModel;
  tools: Tools;
  recovery: Recovery;
  random: Random;
  counts: Counts;
  /** Only these faults; null for all. */
  only: readonly string[] | null;
  /** The average number of milliseconds between two faults. */
  pace_ms: number;
  /** The longest pause of a worker. */
  held_up_ms: number;
  /** The longest silence of a connection. */
  silent_ms: number;
  log(line: string): void;
}

/** Injects faults in the order of the seed until the signal. Resolves when every fault that lasts has ended. */
export async function injectFaults(options: FaultOptions, signal: AbortSignal): Promise<void> {
  const { random, counts, pace_ms, log } = options;
  const lasting = lastingFaults();
  const deck = deckOf(options);
  let pack: Fault[] = [];
  while (!signal.aborted) {
    await wait(random.between(0.3, 1.7) * pace_ms, undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    if (pack.length === 0) pack = random.shuffled(deck);
    const fault = pack.pop()!;
    const happened = await inflict(fault, options, lasting);
    if (happened) counts[fault] += 1;
    log(`fault: ${fault}${happened ? '' : ' (nothing to do it to)'}`);
  }
  await lasting.over();
}

/** False if the fault had no target. */
async function inflict(fault: Fault, options: FaultOptions, lasting: Lasting): Promise<boolean> {
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
      return lasting.holdUp(random.pick(fleet.workers), random.between(2_000, held_up_ms));
    case 'api held up':
      return lasting.holdUp(random.pick(fleet.apis), random.between(500, 5_000));
    case 'postgres':
    case 'temporal':
    case 'redis':
      return restart(fault, options);
    case 'postgres stalled':
    case 'temporal stalled':
    case 'redis stalled':
      await options.servers.stall(fault.split(' ')[0] as Server, random.between(500, 3_000));
      return true;
    case 'redis flushed':
      await options.servers.flushRedis();
      return true;
    case 'model poisoned':
      options.model.poisonNext();
      return true;
    default:
      return starve(fault, options, lasting);
  }
}

/** Takes away for a while what the installation needs from its servers. */
async function starve(fault: Fault, { harm, random, silent_ms, recovery }: FaultOptions, lasting: Lasting): Promise<boolean> {
  const silent = random.between(2_000, silent_ms);
  const short = random.between(1_000, 5_000);
  const during = (ms: number) => recovery.away(Date.now(), Date.now() + ms);
  switch (fault) {
    case 'connection silent':
      during(silent);
      return lasting.silence(() => harm.silence(random), silent);
    case 'connections used up':
      during(short);
      return lasting.takeConnections(harm, short);
    case 'disk full':
      during(short);
      return lasting.fillDisk(harm, short);
    default:
      return false;
  }
}

async function restart(which: Server, { servers, random, recovery }: FaultOptions): Promise<boolean> {
  const pause = random.between(0, 3_000);
  const from = Date.now();
  if (!servers.kill(which)) return false;
  await wait(pause);
  await startAgain(() => servers.start(which));
  recovery.away(from, Date.now());
  return true;
}

const STARTS = 10;

/** Postgres cannot start while its disk is full: it is started again, as a supervisor would. */
async function startAgain(start: () => Promise<unknown>): Promise<void> {
  for (let left = STARTS - 1; left > 0; left -= 1) {
    const failed = await start().then(
      () => false,
      () => true,
    );
    if (!failed) return;
    await wait(1_000);
  }
  await start();
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

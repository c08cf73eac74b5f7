import { closedLoop, type Load, type Loaded, measureTime, measureTimeToFirst, type Spread, spreadOf } from './load.ts';
import type { Subject } from './subjects.ts';
import { type ProcessUse, usesOf } from './usage.ts';

type BySubject<T> = Record<string, T>;

const spreads = (values: BySubject<number[]>): BySubject<Spread> =>
  Object.fromEntries(Object.entries(values).map(([name, all]) => [name, spreadOf(all)]));

/** Runs one run after the other, the subjects in turn, so that other load on the machine affects all of them. */
export async function sequential(subjects: Subject[], count: number): Promise<BySubject<Spread>> {
  const took: BySubject<number[]> = {};
  for (let index = 0; index < count; index += 1) {
    for (const { name, run, three_steps } of subjects) {
      took[name] = [...(took[name] ?? []), await measureTime(() => run(0, three_steps))];
    }
  }
  return spreads(took);
}

const ONE_STEP = 'Say it. [[turns=1;ttft_ms=50;tokens=50]]';

/** Measures the time to the first token of one-step runs that start together; the model waits 50 ms before its first token. */
export async function firstToken(
  subjects: Subject[],
  { streams, rounds }: { streams: number; rounds: number },
): Promise<BySubject<Spread>> {
  const took: BySubject<number[]> = {};
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, run } of subjects) {
      const all = Array.from({ length: streams }, (_, slot) => measureTimeToFirst((on_first) => run(slot, ONE_STEP, on_first)));
      took[name] = [...(took[name] ?? []), ...(await Promise.all(all))];
    }
  }
  return spreads(took);
}

export interface Throughput extends Loaded {
  subject: string;
  clients: number;
  /** The CPU time of each part for a completed run. */
  cpu_ms_per_run: Record<string, number | null>;
}

export interface Levels {
  levels: number[];
  rounds: number;
  window_ms: number;
}

/** Runs closed loops of each size, the subjects in turn; returns the median of several rounds. */
export async function throughput(
  subjects: Subject[],
  pids: Record<string, number>,
  { levels, rounds, window_ms }: Levels,
): Promise<Throughput[]> {
  const found: Throughput[] = [];
  for (const clients of levels) {
    const measured: Throughput[] = [];
    for (let round = 0; round < rounds; round += 1) {
      for (const subject of subjects) measured.push(await loaded(subject, pids, { clients, window_ms }));
    }
    for (const { name } of subjects) found.push(medianOf(measured.filter(({ subject }) => subject === name)));
  }
  return found;
}

async function loaded({ name, run, three_steps }: Subject, pids: Record<string, number>, load: Load): Promise<Throughput> {
  let runs = 0;
  const before = await usesOf(pids);
  const result = await closedLoop(load, async (slot) => {
    await run(slot, three_steps);
    runs += 1;
  });
  const after = await usesOf(pids);
  const each = Object.keys(pids).map((part) => [part, perRun(before[part], after[part], runs)] as const);
  return { subject: name, clients: load.clients, cpu_ms_per_run: Object.fromEntries(each), ...result };
}

const perRun = (before: ProcessUse | null | undefined, after: ProcessUse | null | undefined, runs: number) =>
  before && after && runs > 0 ? (after.cpu_ms - before.cpu_ms) / runs : null;

/** Returns the middle measurement by runs a second, with the worst errors and pauses of all. */
function medianOf(all: Throughput[]): Throughput {
  const sorted = [...all].sort((a, b) => a.runs_per_second - b.runs_per_second);
  const middle = sorted[Math.floor(sorted.length / 2)] as Throughput;
  return {
    ...middle,
    errors: all.reduce((sum, { errors }) => sum + errors, 0),
    first_error: all.find(({ first_error }) => first_error)?.first_error ?? null,
    longest_pause_ms: Math.max(...all.map(({ longest_pause_ms }) => longest_pause_ms)),
  };
}

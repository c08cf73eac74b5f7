import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import type { ChaosOptions, Scene } from './chaos.ts';
import type { Watched } from './client.ts';
import { type Counts, KILLS } from './faults.ts';
import { CHECKS, type Verdict } from './invariants.ts';

interface Outcome extends Scene {
  options: ChaosOptions;
  counts: Counts;
  runs: Watched[];
  /** Exit codes of workers and APIs after SIGTERM. */
  exits: (number | null)[];
  started: number;
}

const SHOWN = 5;

/** Judges what is left and prints it; returns the number of violations. */
export async function report(outcome: Outcome): Promise<number> {
  const { servers, options, counts, runs, model, tools, started } = outcome;
  const database = new pg.Client(servers.database_url);
  await database.connect();
  const verdicts: Verdict[] = [];
  try {
    const evidence = { database, runs, model, effects: await tools.effects() };
    for (const check of CHECKS) verdicts.push(await check(evidence));
    verdicts.push(await nothingIsLeft(outcome, database));
  } finally {
    await database.end();
  }
  const violations = verdicts.reduce((sum, { violations: some }) => sum + some.length, 0);
  const kills = KILLS.reduce((sum, kind) => sum + counts[kind], 0);
  const minutes = ((Date.now() - started) / 60_000).toFixed(1);
  console.log(`\nseed ${options.seed}, ${minutes} minutes, ${model.faults()} model faults`);
  for (const [fault, count] of Object.entries(counts)) console.log(`  ${String(count).padStart(5)}  ${fault}`);
  console.log(`  recovery after a lost worker: ${recoveries(runs)}`);
  for (const verdict of verdicts) print(verdict);
  if (violations > 0) console.log(`\nAgain: npm run chaos -- --seed ${options.seed}${options.kills < 1_000 ? ' --short' : ''}`);
  console.log(`${kills} kills, ${runs.length} runs, ${violations} violations`);
  return violations;
}

function print({ invariant, checked, violations }: Verdict): void {
  console.log(`  ${violations.length === 0 ? 'held  ' : 'BROKEN'}  ${invariant} (${checked} checks)`);
  for (const violation of violations.slice(0, SHOWN)) console.log(`          ${violation.slice(0, 600)}`);
  if (violations.length > SHOWN) console.log(`          and ${violations.length - SHOWN} more`);
}

/** Seconds between the last sign of a run and the announcement that its step is tried again, by what clients saw. */
function recoveries(runs: Watched[]): string {
  const gaps: number[] = [];
  for (const { events } of runs) {
    events.forEach(({ data, timestamp }, index) => {
      const before = events[index - 1];
      const recoverable = before?.data.event === 'retry' || before?.data.event === 'rate_limited';
      if (data.event !== 'attempt_reset' || !before || recoverable) return;
      gaps.push((Date.parse(timestamp) - Date.parse(before.timestamp)) / 1000);
    });
  }
  if (gaps.length === 0) return 'none seen';
  gaps.sort((a, b) => a - b);
  const at = (part: number) => gaps[Math.min(gaps.length - 1, Math.floor(gaps.length * part))]!.toFixed(1);
  return `${gaps.length} steps, p50 ${at(0.5)} s, p95 ${at(0.95)} s`;
}

async function nothingIsLeft({ exits, tools }: Outcome, database: pg.Client): Promise<Verdict> {
  const found: Verdict = {
    invariant: 'SIGTERM ends every process with 0; no tool process and no connection is left',
    checked: 3,
    violations: [],
  };
  const wrong = exits.filter((code) => code !== 0);
  if (wrong.length > 0) found.violations.push(`exit codes ${exits.join(', ')}`);
  const pids = new Set((await tools.effects()).map(({ pid }) => String(pid)));
  for (const pid of (await readdir('/proc')).filter((name) => pids.has(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes('perdura') || command.includes('toolrunner')) found.violations.push(`tool process ${pid} is left`);
  }
  const { rows } = await database.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name LIKE 'perdura%' AND datname = current_database()`,
  );
  if (rows[0]?.n) found.violations.push(`${rows[0].n} database connections are left`);
  return found;
}

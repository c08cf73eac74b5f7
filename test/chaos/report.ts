import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { ChaosOptions, Scene } from './chaos.ts';
import type { Watched } from './client.ts';
import { type Counts, killsIn } from './faults.ts';
import { CHECKS, type Verdict } from './invariants.ts';
import { livingProcesses } from './processes.ts';

interface Outcome extends Scene {
  options: ChaosOptions;
  counts: Counts;
  runs: Watched[];
  /** The exit codes of workers and APIs after SIGTERM. */
  exits: (number | null)[];
  started: number;
}

const SHOWN = 5;

/** Checks the final state, prints the report and returns the number of violations. */
export async function report(outcome: Outcome): Promise<number> {
  const { database_url, options, counts, runs, model, tools, started } = outcome;
  const database = new pg.Client(database_url);
  await database.connect();
  const verdicts: Verdict[] = [];
  try {
    const evidence = { database, runs, model, effects: await tools.effects() };
    for (const check of CHECKS) verdicts.push(await check(evidence));
    verdicts.push(await nothingIsLeft(outcome, database));
    await keepRecord(outcome, database, verdicts);
  } finally {
    await database.end();
  }
  const violations = verdicts.reduce((sum, { violations: some }) => sum + some.length, 0);
  const kills = killsIn(counts);
  const minutes = ((Date.now() - started) / 60_000).toFixed(1);
  console.log(`\nseed ${options.seed}, ${minutes} minutes, ${model.faults()} model faults`);
  for (const [fault, count] of Object.entries(counts)) console.log(`  ${String(count).padStart(5)}  ${fault}`);
  console.log(`  recovery after kill -9 of a worker: ${recoveries(await outcome.recovery.seconds(runs))}`);
  for (const verdict of verdicts) print(verdict);
  if (violations > 0) console.log(`\nAgain: npm run chaos -- ${again(options)}`);
  console.log(`${kills} kills, ${runs.length} runs, ${violations} violations`);
  return violations;
}

const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;

/** Keeps what the database, the model and the tools know of the tasks in violations: the disk of the database does not outlive the round. */
async function keepRecord({ options, runs, model, tools }: Outcome, database: pg.Client, verdicts: Verdict[]): Promise<void> {
  const ids = [...new Set(verdicts.flatMap(({ violations }) => violations.flatMap((text) => text.match(UUID) ?? [])))];
  if (ids.length === 0) return;
  const { rows: tables } = await database.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'task_id' AND data_type = 'uuid'`,
  );
  const record: Record<string, unknown> = { tasks: (await database.query('SELECT * FROM tasks WHERE id = ANY($1)', [ids])).rows };
  for (const { name } of tables)
    record[name] = (await database.query(`SELECT * FROM "${name}" WHERE task_id = ANY($1)`, [ids])).rows;
  const clients = runs.filter(({ task_id }) => ids.includes(task_id));
  const plans = clients.map(({ plan }) => plan.id);
  const served = model.served.filter(({ plan }) => plans.includes(plan));
  await writeFile(
    join(options.home, 'record.json'),
    JSON.stringify({ ...record, clients, served, effects: await tools.effects() }),
  );
}

function again(options: ChaosOptions): string {
  const { seed, kills, minutes, workers, apis, clients, pace_ms, held_up_ms, silent_ms, redis, only } = options;
  const flags = { seed, kills, minutes, workers, apis, clients, pace: pace_ms, 'held-up': held_up_ms, silent: silent_ms };
  const bus = redis ? 'redis' : 'postgres';
  const all = { ...flags, bus, ...(only ? { only: `"${only}"` } : {}) };
  return Object.entries(all)
    .map(([name, value]) => `--${name} ${value}`)
    .join(' ');
}

function print({ invariant, checked, violations }: Verdict): void {
  console.log(`  ${violations.length === 0 ? 'held  ' : 'BROKEN'}  ${invariant} (${checked} checks)`);
  for (const violation of violations.slice(0, SHOWN)) console.log(`          ${violation.slice(0, 600)}`);
  if (violations.length > SHOWN) console.log(`          and ${violations.length - SHOWN} more`);
}

/** Times from kill -9 of a worker until its work is announced again, except while the database or the engine was down. */
function recoveries(seconds: number[]): string {
  const at = (part: number) => seconds[Math.min(seconds.length - 1, Math.floor(seconds.length * part))]?.toFixed(1);
  if (seconds.length === 0) return 'none seen';
  return `${seconds.length} steps and calls, p50 ${at(0.5)} s, p95 ${at(0.95)} s, longest ${at(1)} s`;
}

/** How long the server may take to notice that a client has gone. */
const GOODBYE_MS = 3_000;

/** The connections of the installation's processes that outlive them, each with what it did last. */
async function connectionsLeft(database: pg.Client): Promise<string[]> {
  for (let end = performance.now() + GOODBYE_MS; ; await wait(100)) {
    const { rows } = await database.query<{ found: string }>(
      `SELECT format('%s, %s since %s: %s', application_name, state, state_change, left(query, 60)) AS found FROM pg_stat_activity
       WHERE application_name LIKE 'perdura%' AND datname = current_database()`,
    );
    if (rows.length === 0 || performance.now() > end) return rows.map(({ found }) => found);
  }
}

/** Of the start of a process. */
const IMPRECISION_S = 2;

async function nothingIsLeft({ exits, tools }: Outcome, database: pg.Client): Promise<Verdict> {
  const found: Verdict = {
    invariant: 'SIGTERM ends every process with 0; no tool process and no connection is left',
    checked: 3,
    violations: [],
  };
  const wrong = exits.filter((code) => code !== 0);
  if (wrong.length > 0) found.violations.push(`exit codes ${exits.join(', ')}`);
  const last = new Map((await tools.effects()).map(({ pid, at }) => [pid, at]));
  // One that started later has got the number of a tool that has ended.
  for (const { pid, since, argv } of await livingProcesses())
    if (since - (last.get(pid) ?? 0) <= IMPRECISION_S && /perdura|toolrunner/.test(argv.join(' ')))
      found.violations.push(`tool process ${pid} is left`);
  for (const pid of await tools.servers()) found.violations.push(`MCP server ${pid} is left`);
  const left = await connectionsLeft(database);
  if (left.length > 0) found.violations.push(`${left.length} database connections are left: ${left.join('; ')}`);
  return found;
}

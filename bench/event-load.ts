import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type pg from 'pg';
import { startPostgres } from '../src/embedded/postgres.ts';
import { postgresBus } from '../src/events/postgres-bus.ts';
import { MIGRATIONS } from '../src/main/places.ts';
import { buildClientConfig, openDatabase } from '../src/store/database/database.ts';
import { applyMigrations } from '../src/store/database/migrations.ts';
import { type OpenRun, runStore } from '../src/store/runs/runs.ts';
import { redisCost } from './redis-load.ts';
import { usesOf } from './usage.ts';

const HELP = `node bin/perdura.mjs bench:event-load [--streams 1000] [--workers 10] [--seconds 20] [--quiet-bus]

Postgres with the texts of many streams, as workers write them, and what docs/sizing.md predicts for it. CPU time is read from /proc, so
other work on the machine delays the load but does not count.

  --quiet-bus   without notifications, as with REDIS_URL
`;

const { values: given } = parseArgs({
  options: {
    streams: { type: 'string', default: '1000' },
    workers: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '20' },
    'quiet-bus': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [streams, workers, seconds] = [Number(given.streams), Number(given.workers), Number(given.seconds)];

const AGENT = '0197a0c4-0000-7000-8000-000000000002';
const TOKENS_PER_SECOND = 40;
/** How long a worker collects the text of a run (src/events/publisher.ts): longer with more runs. */
const PAUSE_MS = Math.min(150, Math.max(50, streams / workers));
/** An answer slower than the pause has a row for each token. */
const ROWS_PER_SECOND = streams * Math.min(1_000 / PAUSE_MS, TOKENS_PER_SECOND);
/** The costs of docs/sizing.md, and the most texts of a statement (src/store/runs/grouped-texts.ts). */
const COST_MS = { row: 0.037, statement: 0.73 };
const ROWS_PER_STATEMENT = 256;
const TOKEN = 'token ';

/** Creates runs in their first step, whose first attempt has started. */
async function runningIn(pool: pg.Pool): Promise<OpenRun[]> {
  await pool.query(`INSERT INTO agents (id, name, created_by) VALUES ($1, 'a', 'local:a')`, [AGENT]);
  await pool.query(`INSERT INTO definitions (hash, body) VALUES ('h', '{}')`);
  const runs = Array.from({ length: streams }, () => ({ task_id: randomUUID(), workflow_id: randomUUID(), attempts: 0 }));
  const ids = [runs.map(({ task_id }) => task_id), runs.map(({ workflow_id }) => workflow_id)];
  await pool.query(
    `INSERT INTO workflows (id, agent_id, owner, owner_login, status) SELECT w, $2, 'local:a', 'a', 'running' FROM unnest($1::uuid[]) w`,
    [ids[1], AGENT],
  );
  await pool.query(
    `INSERT INTO tasks (id, workflow_id, owner, owner_login, prompt, definition_hash, agent_id, agent_name, status)
     SELECT t, w, 'local:a', 'a', 'p', 'h', $3, 'a', 'running' FROM unnest($1::uuid[], $2::uuid[]) AS r (t, w)`,
    [...ids, AGENT],
  );
  await pool.query('INSERT INTO task_steps (task_id, step, attempts) SELECT t, 1, 1 FROM unnest($1::uuid[]) t', [ids[0]]);
  return runs as unknown as OpenRun[];
}

interface Counts {
  rows: number;
  statements: number;
}

/**
 * Simulates a worker with its own connections: all its runs send text at the same moments. It skips a moment that comes too
 * late.
 */
async function speak(url: string, runs: readonly OpenRun[], counts: Counts) {
  const { pool, close } = openDatabase({ url, max_connections: 8 });
  const bus = given['quiet-bus']
    ? null
    : postgresBus({ connection: buildClientConfig(url, 'perdura events'), pool, log: console.error });
  const counted = {
    query(statement: pg.QueryConfig) {
      counts.statements += 1;
      return pool.query(statement);
    },
  };
  const { publishText } = runStore(counted as never, (workflow_id, task_id, written) =>
    bus?.announce(workflow_id, { task_id, ...written }),
  );
  const delta = TOKEN.repeat(Math.max(1, Math.round((TOKENS_PER_SECOND * PAUSE_MS) / 1_000)));
  const last = new Map<OpenRun, number>(runs.map((run) => [run, 0]));
  const end = performance.now() + seconds * 1_000;
  for (let next = performance.now(); next < end; next = Math.max(next + PAUSE_MS, performance.now())) {
    await wait(Math.max(0, next - performance.now()));
    await Promise.all(
      runs.map(async (run) => {
        const event = { type: 'message_delta' as const, data: { delta }, timestamp: new Date().toISOString() };
        last.set(run, (await publishText(run, { step: 1, after: last.get(run)!, event })) ?? 0);
        counts.rows += 1;
      }),
    );
  }
  await bus?.close();
  await close();
}

const sizeOf = async (pool: pg.Pool): Promise<{ wal: number; bytes: number }> => {
  const { rows } = await pool.query(
    `SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS wal, pg_database_size(current_database()) AS bytes`,
  );
  return { wal: Number(rows[0].wal), bytes: Number(rows[0].bytes) };
};

async function measure(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'perdura-bench-'));
  const postgres = await startPostgres({ home, log: () => {} });
  try {
    await applyMigrations(postgres.url, MIGRATIONS);
    const { pool, close } = openDatabase({ url: postgres.socket_url });
    const runs = await runningIn(pool);
    const counts = { rows: 0, statements: 0 };
    const [before, size] = [await usesOf({ postgres: postgres.pid }), await sizeOf(pool)];
    const share = Math.ceil(runs.length / workers);
    await Promise.all(
      Array.from({ length: workers }, (_, at) => speak(postgres.socket_url, runs.slice(at * share, (at + 1) * share), counts)),
    );
    const [after, grown] = [await usesOf({ postgres: postgres.pid }), await sizeOf(pool)];
    const per_row_ms = (after.postgres!.cpu_ms - before.postgres!.cpu_ms) / counts.rows;
    const grew = { wal: grown.wal - size.wal, bytes: grown.bytes - size.bytes };
    report({ counts, per_row_ms, ...grew, redis_ms: await redisCost() });
    await close();
  } finally {
    await postgres.stop();
    await rm(home, { recursive: true, force: true });
  }
}

interface Found {
  counts: Counts;
  per_row_ms: number;
  wal: number;
  bytes: number;
  redis_ms: number | null;
}

/** Returns the CPU time of Postgres for a second of the load: workers write at the same moments, in as few statements as they can. */
function predictMs(): number {
  const moments = (workers * 1_000) / 50;
  const statements = Math.max(ROWS_PER_SECOND / ROWS_PER_STATEMENT, Math.min(ROWS_PER_SECOND, moments));
  return ROWS_PER_SECOND * COST_MS.row + statements * COST_MS.statement;
}

function report({ counts, per_row_ms, wal, bytes, redis_ms }: Found): void {
  const micro = (ms: number) => `${(ms * 1_000).toFixed(ms < 0.01 ? 1 : 0)} µs`;
  const lines = [
    `${streams} streams of ${workers} workers, a text every ${PAUSE_MS} ms: ${ROWS_PER_SECOND} rows a second`,
    `written in ${seconds} s: ${counts.rows} rows by ${counts.statements} statements (${Math.round(counts.rows / seconds)} a second)`,
    `Postgres: ${micro(per_row_ms)} of CPU per row, so ${((per_row_ms * ROWS_PER_SECOND) / 1_000).toFixed(2)} cores for the whole load`,
    `predicted: ${(predictMs() / 1_000).toFixed(2)} cores`,
    `a row: ${Math.round(bytes / counts.rows)} bytes of disk, ${Math.round(wal / counts.rows)} bytes of log`,
    ...(redis_ms === null ? [] : [`Redis: ${micro(redis_ms)} of CPU per text`]),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

if (given.help) process.stdout.write(HELP);
else await measure();

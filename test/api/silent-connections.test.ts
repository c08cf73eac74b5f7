import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, inject, it } from 'vitest';
import { findOutage } from '../../src/domain/outages.ts';
import { type Database, openDatabase } from '../../src/store/database/database.ts';
import { testDatabase } from '../support/database/database.ts';
import { type DroppingProxy, startDroppingProxy, throughProxy } from '../support/peers/dropping-proxy.ts';
import { until } from '../support/until.ts';

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const CONNECTIONS = 4;

/** A pool whose connections are open and idle, by way of a proxy. */
async function openedPool(): Promise<{ pool: Database['pool']; proxy: DroppingProxy }> {
  const database = await testDatabase();
  endings.push(() => database.drop());
  const proxy = await startDroppingProxy(inject('postgres_url'));
  endings.push(() => proxy.stop());
  const { pool, close } = openDatabase({ url: throughProxy(database.url, proxy), max_connections: CONNECTIONS });
  endings.push(close);
  await all(() => pool.query('SELECT pg_sleep(0.1)'));
  expect([pool.totalCount, pool.idleCount]).toEqual([CONNECTIONS, CONNECTIONS]);
  return { pool, proxy };
}

const all = <T>(ask: () => Promise<T>) => Promise.all(Array.from({ length: CONNECTIONS }, ask));

/** How a statement ended: `read timeout` if it came to its time limit. */
const endOf = (work: Promise<unknown>) =>
  work.then(
    () => 'answered',
    (error: Error) => (findOutage(error) ? (error.cause as Error).message : `no outage: ${error.message}`),
  );

it('fails a statement that the server never got, and replaces the connections that are idle', async () => {
  const { pool, proxy } = await openedPool();
  proxy.silence();
  expect(await endOf(pool.query('SELECT 1'))).toBe('Connection terminated unexpectedly');
  // They were closed in the same turn.
  await new Promise(setImmediate);
  expect(await all(() => endOf(pool.query('SELECT 1')))).toEqual(Array(CONNECTIONS).fill('answered'));
});

it('fails statements on all connections at once if each is silent', async () => {
  const { pool, proxy } = await openedPool();
  proxy.silence();
  expect(await all(() => endOf(pool.query('SELECT 1')))).toEqual(Array(CONNECTIONS).fill('Connection terminated unexpectedly'));
  expect(await endOf(pool.query('SELECT 1'))).toBe('answered');
});

it('fails a statement whose answer is lost', async () => {
  const { pool, proxy } = await openedPool();
  const lost = endOf(pool.query('SELECT pg_sleep(1)'));
  const working = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(1)' AND state = 'active'`;
  await until('the server works', async () => (await pool.query(working)).rows[0].n === 1);
  proxy.silence();
  expect(await lost).toBe('Connection terminated unexpectedly');
});

it('fails a transaction whose connection falls silent', async () => {
  const { pool, proxy } = await openedPool();
  const connection = await pool.connect();
  connection.on('error', () => {});
  await connection.query('CREATE TABLE left_open (id int)');
  await connection.query('BEGIN');
  await connection.query('INSERT INTO left_open VALUES (1)');
  proxy.silence();
  expect(await endOf(connection.query('INSERT INTO left_open VALUES (2)'))).toBe('Connection terminated unexpectedly');
  connection.release(true);
  expect((await pool.query('SELECT count(*)::int AS n FROM left_open')).rows[0].n).toBe(0);
});

it('waits for a statement on which the server works, and for one that waits for a lock', async () => {
  const { pool } = await openedPool();
  await pool.query('CREATE TABLE locked (id int)');
  const holder = await pool.connect();
  await holder.query('BEGIN');
  await holder.query('LOCK TABLE locked');
  const waits = endOf(pool.query('SELECT * FROM locked'));
  expect(await endOf(pool.query('SELECT pg_sleep(3)'))).toBe('answered');
  await holder.query('COMMIT');
  holder.release();
  expect(await waits).toBe('answered');
});

it('waits for a server that has not got round to a statement when it is asked for the first time', async () => {
  const { pool, proxy } = await openedPool();
  const connection = await pool.connect();
  connection.on('error', () => {});
  const { pid } = (await connection.query('SELECT pg_backend_pid() AS pid')).rows[0];
  process.kill(pid, 'SIGSTOP');
  try {
    const before = proxy.counts();
    const waits = endOf(connection.query('SELECT 1'));
    const asked = () => proxy.counts().opened > before.opened && proxy.counts().open === before.open;
    await until('the question to the server, and its end', async () => asked());
    process.kill(pid, 'SIGCONT');
    expect(await waits).toBe('answered');
  } finally {
    process.kill(pid, 'SIGCONT');
    connection.release(true);
  }
});

it('leaves a statement to its time limit if the database does not say on what it works', { timeout: 30_000 }, async () => {
  const { pool, proxy } = await openedPool();
  proxy.silence({ fresh: true });
  const asked = { text: 'SELECT 1', query_timeout: 8_000 };
  expect(await endOf(pool.query(asked))).toBe('Query read timeout');
});

const PROCESS = `
  const { openDatabase } = await import(process.argv[1]);
  const { pool, close } = openDatabase({ url: process.argv[2] });
  await Promise.all([1, 2, 3].map(() => pool.query('SELECT pg_sleep(0.1)')));
  process.on('SIGTERM', close);
  console.log('open');
  setInterval(() => {}, 1_000).unref();
`;

it('lets the process end although the server does not answer the goodbye', async () => {
  const database = await testDatabase();
  endings.push(() => database.drop());
  const proxy = await startDroppingProxy(inject('postgres_url'));
  endings.push(() => proxy.stop());
  const module = new URL('../../src/store/database/database.ts', import.meta.url).href;
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', PROCESS];
  const child = spawn(process.execPath, [...flags, module, throughProxy(database.url, proxy)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endings.push(async () => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  proxy.silence({ fresh: true });
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

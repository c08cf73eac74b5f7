import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asOperator } from '../database/operator.ts';
import { childOf, freePort } from '../machine/processes.ts';

export const pgbouncerIsInstalled = (): boolean => spawnSync('pgbouncer', ['--version']).status === 0;

export interface PgBouncer {
  /** Returns the address of the same database through the pooler. */
  through(url: string): string;
  /** Returns the names of the applications that are connected to it. */
  applications(): Promise<string[]>;
  stop(): Promise<void>;
}

/**
 * Starts PgBouncer as docs/operations.md describes it: transactions share connections, up to three servers' for each database.
 */
export async function startPgBouncer(server_url: string): Promise<PgBouncer> {
  const { hostname, port: server_port, username, password } = new URL(server_url);
  const folder = await mkdtemp(join(tmpdir(), 'perdura-pgbouncer-'));
  const port = await freePort();
  const session = 'SET statement_timeout = 60000; SET idle_in_transaction_session_timeout = 5000';
  const server = `host=${hostname} port=${server_port} user=${username} password=${decodeURIComponent(password)}`;
  const settings = [
    ...['[databases]', `* = ${server} connect_query='${session}'`],
    ...['[pgbouncer]', 'listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = any'],
    ...['pool_mode = transaction', 'default_pool_size = 3', 'max_client_conn = 500', 'admin_users = operator'],
  ];
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(file, `${settings.join('\n')}\n`);
  // PgBouncer refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  spawnSync('chmod', ['-R', 'a+rX', folder]);
  const pooler = childOf(spawn('pgbouncer', [...user, file], { stdio: ['ignore', 'pipe', 'pipe'] }));
  await pooler.prints(/process up/);
  return {
    through(url) {
      const pooled = new URL(url);
      pooled.host = `127.0.0.1:${port}`;
      return pooled.href;
    },
    applications: () =>
      asOperator(`postgresql://operator@127.0.0.1:${port}/pgbouncer`, async (operator) => {
        const { rows } = await operator.query<{ application_name: string }>('SHOW CLIENTS');
        return rows.map(({ application_name }) => application_name);
      }),
    async stop() {
      await pooler.end('SIGINT');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

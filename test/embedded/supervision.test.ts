import { afterEach, describe, expect, it } from 'vitest';
import { supervisedPostgres } from '../support/database/supervised-postgres.ts';
import { testBench } from '../support/harness/embedded-homes.ts';
import { until } from '../support/until.ts';

const bench = testBench();

describe('the supervision of the servers of an installation', { timeout: 60_000 }, () => {
  afterEach(() => bench.clear());

  it('restarts a server that died, on the same port and data', async () => {
    const { server, lines, restarts } = await supervisedPostgres(bench);
    const { url, pid } = server;
    process.kill(pid, 'SIGKILL');
    await until('it runs again', async () => restarts() === 1 && server.isUp());
    expect(lines).toEqual(['Postgres has died; restarting it']);
    expect(server.url).toBe(url);
    expect(server.pid).not.toBe(pid);
  });

  it('restarts nothing once it is stopped', async () => {
    const { server, supervision, lines } = await supervisedPostgres(bench);
    await supervision.stop();
    process.kill(server.pid, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(lines).toEqual([]);
    expect(await server.isUp()).toBe(false);
  });
});

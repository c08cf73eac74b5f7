import { afterEach, describe, expect, it } from 'vitest';
import { startPostgres } from '../../src/embedded/postgres.ts';
import { supervise } from '../../src/embedded/supervision.ts';
import { testBench } from '../support/embedded-homes.ts';

const bench = testBench();

describe('the supervision of the servers of an installation', { timeout: 180_000 }, () => {
  afterEach(() => bench.clear());

  const supervised = async () => {
    const lines: string[] = [];
    const server = bench.keep(await startPostgres({ home: await bench.home(), log: bench.log, port: 24_532 }));
    let restarts = 0;
    const on_restart = async () => {
      restarts += 1;
    };
    const supervision = bench.keep(supervise([server], { log: (line) => lines.push(line), on_restart }));
    return { server, supervision, lines, restarts: () => restarts };
  };

  it('gives up on a server that dies again and again, and names it and its log', async () => {
    const { server, supervision, lines, restarts } = await supervised();
    const url = server.url;
    const killing = setInterval(() => void server.isUp().then((up) => up && process.kill(server.pid, 'SIGKILL')), 200);
    try {
      await expect(supervision.broken).rejects.toThrow(
        new RegExp(`Postgres died again after 5 restarts within 10 minutes. Look at its log, ${server.log_file}`),
      );
    } finally {
      clearInterval(killing);
    }
    expect(lines.filter((line) => line === 'Postgres has died; restarting it')).toHaveLength(5);
    expect(restarts()).toBeLessThanOrEqual(5);
    expect(server.url).toBe(url);
  });

  it('restarts nothing once it is stopped', async () => {
    const { server, supervision, lines } = await supervised();
    await supervision.stop();
    process.kill(server.pid, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(lines).toEqual([]);
    expect(await server.isUp()).toBe(false);
  });
});

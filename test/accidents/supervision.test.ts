import { afterEach, expect, it } from 'vitest';
import { supervisedPostgres } from '../support/database/supervised-postgres.ts';
import { testBench } from '../support/harness/embedded-homes.ts';

const bench = testBench();
afterEach(() => bench.clear());

it('a server that dies again and again is given up, with an error that names it and its log', { timeout: 180_000 }, async () => {
  const { server, supervision, lines, restarts } = await supervisedPostgres(bench);
  const { url } = server;
  const killing = setInterval(() => void server.isUp().then((up) => up && process.kill(server.pid, 'SIGKILL')), 200);
  try {
    await expect(supervision.failure).rejects.toThrow(
      new RegExp(`Postgres died again after 5 restarts within 10 minutes. Look at its log, ${server.log_file}`),
    );
  } finally {
    clearInterval(killing);
  }
  expect(lines.filter((line) => line === 'Postgres has died; restarting it')).toHaveLength(5);
  expect(restarts()).toBeLessThanOrEqual(5);
  expect(server.url).toBe(url);
});

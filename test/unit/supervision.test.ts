import { describe, expect, it, vi } from 'vitest';
import { type Restartable, supervise } from '../../src/embedded/supervision.ts';
import { fakePauses } from '../support/machine/pauses.ts';

const SECOND_MS = 1_000;

fakePauses();

/** A server that is up for a while after each start, and the times of its restarts in seconds. */
function mortal(name: string, up_ms: number) {
  const restarts: number[] = [];
  let dies_at = 0;
  const server: Restartable = {
    name,
    log_file: `/logs/${name}.log`,
    isUp: async () => performance.now() < dies_at,
    async restart() {
      restarts.push(performance.now() / SECOND_MS);
      dies_at = performance.now() + up_ms;
    },
  };
  return { server, restarts };
}

/** Supervises servers for half an hour. Returns what was logged, and why it ended, or null. */
async function superviseLong(servers: Restartable[], on_restart = async () => {}) {
  const lines: string[] = [];
  let failure: string | null = null;
  const supervision = supervise(servers, { log: (line) => void lines.push(line), on_restart });
  supervision.failure.catch((error: Error) => {
    failure = error.message;
  });
  await vi.advanceTimersByTimeAsync(1_800 * SECOND_MS);
  await supervision.stop();
  return { lines, failure };
}

describe('a server that dies after each restart', () => {
  it.each([
    ['at once', 0],
    ['after a minute', 60 * SECOND_MS],
    ['five times in nearly ten minutes', 117 * SECOND_MS],
  ])('%s is given up after five, with the name of its log', async (_, up_ms) => {
    const { server, restarts } = mortal('Postgres', up_ms);
    const { failure } = await superviseLong([server]);
    expect(failure).toBe(
      'Postgres died again after 5 restarts within 10 minutes. Look at its log, /logs/Postgres.log, then start Perdura again.',
    );
    expect(restarts).toHaveLength(5);
  });

  it('five times in a little more than ten minutes is restarted for as long as it takes', async () => {
    const { server, restarts } = mortal('Postgres', 120 * SECOND_MS);
    expect((await superviseLong([server])).failure).toBeNull();
    expect(restarts.length).toBeGreaterThan(12);
  });

  it('at once is restarted after pauses that double', async () => {
    const { server, restarts } = mortal('Postgres', 0);
    await superviseLong([server]);
    // Half a second passes before each look.
    expect(restarts).toEqual([0, 1.5, 4, 8.5, 17]);
  });
});

it('two servers are counted separately', async () => {
  const [postgres, temporal] = [mortal('Postgres', 200 * SECOND_MS), mortal('Temporal', 250 * SECOND_MS)];
  expect((await superviseLong([postgres.server, temporal.server])).failure).toBeNull();
  expect(postgres.restarts.length).toBeGreaterThan(temporal.restarts.length);
  expect(temporal.restarts.length).toBeGreaterThan(5);
});

it('a restart that fails is logged and tried again', async () => {
  const { server } = mortal('Temporal', 0);
  const { lines, failure } = await superviseLong([{ ...server, restart: async () => Promise.reject(new Error('No port')) }]);
  expect(lines).toEqual(Array(5).fill(['Temporal has died; restarting it', 'No port']).flat());
  expect(failure).toContain('/logs/Temporal.log');
});

it('what fails after a restart is logged, and the server is supervised on', async () => {
  const { server, restarts } = mortal('Temporal', 300 * SECOND_MS);
  const { lines, failure } = await superviseLong([server], async () => Promise.reject(new Error('No space left')));
  expect(failure).toBeNull();
  expect(restarts.length).toBeGreaterThan(3);
  expect(lines).toEqual(restarts.flatMap(() => ['Temporal has died; restarting it', 'No space left']));
});

it('nothing is restarted once the supervision is stopped, also if it was pausing before a restart', async () => {
  const { server, restarts } = mortal('Postgres', 0);
  const supervision = supervise([server], { log: () => {}, on_restart: async () => {} });
  await vi.advanceTimersByTimeAsync(5 * SECOND_MS);
  const before = restarts.length;
  expect(before).toBeGreaterThan(1);
  await supervision.stop();
  await vi.advanceTimersByTimeAsync(60 * SECOND_MS);
  expect(restarts).toHaveLength(before);
});

import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { callClock } from '../../src/tools/mcp/call-clock.ts';

function clockOf(limits: { silence_ms: number; total_ms: number }) {
  let expired = 0;
  const clock = callClock(limits, () => {
    expired += 1;
  });
  return { clock, expired: () => expired };
}

it('a call expires when it is silent for too long, and not while it reports progress', async () => {
  const { clock, expired } = clockOf({ silence_ms: 200, total_ms: 60_000 });
  for (const _ of [1, 2, 3]) {
    await wait(120);
    clock.progress();
  }
  expect(expired()).toBe(0);
  await expect.poll(expired).toBe(1);
});

it('a call expires when it takes too long altogether, whatever it reports', async () => {
  const { clock, expired } = clockOf({ silence_ms: 200, total_ms: 300 });
  const reports = setInterval(clock.progress, 50);
  await expect.poll(expired).toBe(1);
  clearInterval(reports);
});

it('a call does not expire while it waits as long as its server asked, but does when it takes too long altogether', async () => {
  const { clock, expired } = clockOf({ silence_ms: 100, total_ms: 60_000 });
  clock.progress(300);
  await wait(250);
  expect(expired()).toBe(0);
  await expect.poll(expired).toBe(1);
  const busy = clockOf({ silence_ms: 100, total_ms: 300 });
  const waits = setInterval(() => busy.clock.progress(60_000), 50);
  await expect.poll(busy.expired).toBe(1);
  clearInterval(waits);
});

it('the clock of a call stands still while a person is asked, and after the call has ended', async () => {
  const { clock, expired } = clockOf({ silence_ms: 100, total_ms: 200 });
  clock.pause();
  clock.pause();
  clock.resume();
  await wait(300);
  clock.progress();
  await wait(300);
  expect(expired()).toBe(0);
  clock.resume();
  await expect.poll(expired).toBe(1);
  const ended = clockOf({ silence_ms: 50, total_ms: 50 });
  ended.clock.pause();
  ended.clock.end();
  ended.clock.resume();
  await wait(150);
  expect(ended.expired()).toBe(0);
});

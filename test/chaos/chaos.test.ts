import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const SEED = '20261121';
/** Half of a short run: everything else waits for this file. `npm run chaos -- --short` takes longer. */
const MINUTES = '0.4';
const RUN = fileURLToPath(new URL('run.ts', import.meta.url));

it('no run is lost, no effect repeated unnoticed and no stream wrong, regardless of what is killed', {
  timeout: 480_000,
}, async () => {
  const flags = ['--disable-warning=ExperimentalWarning', RUN, '--short', '--minutes', MINUTES, '--seed', SEED];
  const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const last = printed.trimEnd().split('\n').at(-1);
  expect(last, printed).toMatch(/^\d+ kills, \d+ runs, 0 violations$/);
  expect(code).toBe(0);
  const [kills = 0, runs = 0] = last!.match(/\d+/g)!.map(Number);
  expect(kills).toBeGreaterThan(5);
  expect(runs).toBeGreaterThan(10);
});

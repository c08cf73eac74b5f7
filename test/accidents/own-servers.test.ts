import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { isAlive, npmStarts, workflowTitles } from '../support/machine/npm-start.ts';
import { until } from '../support/until.ts';

const SAMPLE = 'Sample: count words';

const { newHome, command, start, readyIn, end, clear } = npmStarts();
afterEach(clear);

it('npm start restarts with its data after a kill -9 of itself or of any server', async () => {
  const home = await newHome();
  const first = await start(home);
  const demo = command(home, 'demo');
  await demo.prints(/status {5}completed/, 60_000);

  process.kill(first.ready.pids.api!, 'SIGKILL');
  await end(first.child, 'SIGKILL');
  const second = await start(home);
  expect(await workflowTitles(second.ready)).toEqual([SAMPLE]);

  for (const server of ['postgres', 'temporal']) process.kill(second.ready.pids[server]!, 'SIGKILL');
  await wait(500);
  await end(second.child);
  const third = await start(home);
  expect(await workflowTitles(third.ready)).toEqual([SAMPLE]);
}, 400_000);

it('npm start restarts its own Postgres and Temporal when they are killed, and continues', async () => {
  const home = await newHome();
  const { child, ready } = await start(home);
  for (const server of ['postgres', 'temporal']) process.kill(ready.pids[server]!, 'SIGKILL');
  await child.prints(/Postgres has died; restarting it/);
  await child.prints(/Temporal has died; restarting it/);
  await until(
    'both have new processes',
    async () => {
      const { pids } = await readyIn(home);
      return pids.postgres !== ready.pids.postgres && pids.temporal !== ready.pids.temporal;
    },
    60_000,
  );
  expect({ ...(await readyIn(home)), pids: null }).toEqual({ ...ready, pids: null });
  await until('it is ready', async () => (await fetch(`${ready.api_url}/health/ready`)).ok, 60_000);
  await command(home, 'demo').prints(/status {5}completed/, 60_000);
  const { pids } = await readyIn(home);
  expect(await end(child)).toBe(0);
  await expect.poll(() => Object.values(pids).filter(isAlive)).toEqual([]);
}, 400_000);

import { afterEach, expect, it } from 'vitest';
import { npmStarts } from '../support/machine/npm-start.ts';

const { newHome, command, start, clear } = npmStarts();
afterEach(clear);

it('runs two installations side by side, and refuses a second one in the same home', async () => {
  const [one, two] = [await newHome(), await newHome()];
  const first = await start(one);
  const second = await start(two);
  expect(first.ready.api_url).not.toBe(second.ready.api_url);
  expect((await fetch(`${second.ready.api_url}/health/ready`)).status).toBe(200);
  const again = command(one, 'dev');
  await expect(again.prints(/Perdura is ready/)).rejects.toThrow(/already running/);
}, 240_000);

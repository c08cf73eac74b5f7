import { afterAll, beforeAll, expect, it } from 'vitest';
import { databasesInUse, freeNames } from '../support/harness/second-attempts.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(() => here.stop());

it('a second attempt of a test can use the names of the first, and keeps what was there before', async () => {
  const make = (name: string) => here.alice.post('/api/agents', { name });
  await here.alice.ok(make('earlier'));
  const began = new Date();
  await here.alice.ok(make('mine'));
  expect((await make('mine')).status).toBe(409);
  expect(databasesInUse.has(here.setting.database_url)).toBe(true);
  for (const url of databasesInUse) await freeNames(url, began);
  expect((await make('mine')).status).toBe(201);
  expect((await make('earlier')).status).toBe(409);
});

import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSchedules } from '../../src/temporal/client/schedules.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(() => here?.stop());

it('answers 503 and leaves nothing half written while the engine is out of reach', { timeout: 60_000 }, async () => {
  const workflow_id = await here.workflow();
  const start_at = new Date(Date.now() + 3_600_000).toISOString();
  const body = { name: 'hourly', prompt: 'p', interval_value: 1, interval_unit: 'hours', start_at, workflow_id };
  const kept = await here.alice.ok(here.alice.post('/api/scheduled-agents', body), 201);

  const working = { ...here.driver.schedules };
  Object.assign(
    here.driver.schedules,
    createSchedules({
      client: new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) }),
      task_queue: 'none',
      public_url: () => null,
    }),
  );
  const path = `/api/scheduled-agents/${kept.id}`;
  expect((await here.alice.post('/api/scheduled-agents', { ...body, name: 'second' })).status).toBe(503);
  expect((await here.alice.patch(path, { interval_value: 5 })).status).toBe(503);
  expect((await here.alice.patch(`${path}/disable`)).status).toBe(503);
  expect((await here.alice.del(path)).status).toBe(503);
  expect(await here.alice.ok(here.alice.get('/api/scheduled-agents'))).toEqual([kept]);

  Object.assign(here.driver.schedules, working);
  expect((await here.driver.schedules.nextRun(kept.id))?.toISOString()).toBe(kept.next_run_at);
  expect((await here.alice.del(path)).status).toBe(204);
});

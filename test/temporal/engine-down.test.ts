import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSchedules } from '../../src/temporal/schedules.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let at: TestInstallation;
beforeAll(async () => {
  at = await startTestInstallation({ worker: false });
});
afterAll(() => at?.stop());

it('answers 503 and leaves nothing half written while the engine is out of reach', { timeout: 60_000 }, async () => {
  const workflow_id = await at.workflow();
  const start_at = new Date(Date.now() + 3_600_000).toISOString();
  const body = { name: 'hourly', prompt: 'p', interval_value: 1, interval_unit: 'hours', start_at, workflow_id };
  const kept = await at.alice.ok(at.alice.post('/api/scheduled-agents', body), 201);

  const working = { ...at.driver.schedules };
  Object.assign(
    at.driver.schedules,
    createSchedules(new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) }), 'none'),
  );
  const path = `/api/scheduled-agents/${kept.id}`;
  expect((await at.alice.post('/api/scheduled-agents', { ...body, name: 'second' })).status).toBe(503);
  expect((await at.alice.patch(path, { interval_value: 5 })).status).toBe(503);
  expect((await at.alice.patch(`${path}/disable`)).status).toBe(503);
  expect((await at.alice.del(path)).status).toBe(503);
  expect(await at.alice.ok(at.alice.get('/api/scheduled-agents'))).toEqual([kept]);

  Object.assign(at.driver.schedules, working);
  expect((await at.driver.schedules.nextRun(kept.id))?.toISOString()).toBe(kept.next_run_at);
  expect((await at.alice.del(path)).status).toBe(204);
});

import { describe, expect, it } from 'vitest';
import { toRunId } from '../../src/temporal/names.ts';
import { countFittingSlots } from '../../src/temporal/worker/slots.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

/** PENDING_ACTIVITY_STATE_SCHEDULED: no worker has taken it. */
const SCHEDULED = 1;

/** Prompts of as many workflows, and a model that is silent until it is released. */
async function speaking(here: TestInstallation, runs: number) {
  const released = Promise.withResolvers<void>();
  here.model.always(async (response, request) => {
    await released.promise;
    await says('Done.')(response, request);
  });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`));
  const started = async () => here.prompt((await here.alice.ok(here.alice.post('/api/workflows', { agent_id }))).id);
  return { tasks: await Promise.all(Array.from({ length: runs }, started)), release: released.resolve };
}

async function waitsForSlot(here: TestInstallation, task_id: string): Promise<boolean> {
  const { raw } = await here.driver.client.workflow.getHandle(toRunId(task_id)).describe();
  return raw.pendingActivities?.[0]?.state === SCHEDULED;
}

describe('a worker', () => {
  it('lets many more runs wait for their models at once than it has cores', async () => {
    const here = await startTestInstallation({ env: { RATE_LIMIT_PER_MINUTE: '100000' } });
    try {
      const { tasks, release } = await speaking(here, 105);
      await until('every run has asked its model', async () => here.model.requests.length === tasks.length, 60_000);
      release();
      const completed = `SELECT count(*)::int AS runs FROM tasks WHERE status = 'completed'`;
      const runs = async () => (await here.core.database.pool.query(completed)).rows[0].runs;
      await until('every run ends', async () => (await runs()) === tasks.length, 60_000);
    } finally {
      await here.stop();
    }
  }, 120_000);

  it('takes no more steps at once than WORKER_MAX_ACTIVITIES', async () => {
    const here = await startTestInstallation({ env: { WORKER_MAX_ACTIVITIES: '1' } });
    try {
      const { tasks, release } = await speaking(here, 2);
      await until('a run has asked its model', async () => here.model.requests.length === 1);
      await until('the one run waits for the other', async () =>
        (await Promise.all(tasks.map((task_id) => waitsForSlot(here, task_id)))).includes(true),
      );
      expect(here.model.requests).toHaveLength(1);
      release();
      for (const task_id of tasks) expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
    } finally {
      await here.stop();
    }
  });
});

it('takes as many steps as half of its memory holds, but never fewer than 100 or more than 1,000', () => {
  expect([256, 1_024, 4_096, 65_536].map((mib) => countFittingSlots(mib * 1024 ** 2))).toEqual([100, 128, 512, 1_000]);
});

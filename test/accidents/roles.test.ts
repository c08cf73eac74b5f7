import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ROLES } from '../../src/temporal/names.ts';
import {
  callsOf,
  closeRoles,
  here,
  lose,
  loseAll,
  openRoles,
  resultsOf,
  SECONDS,
  saidOfWorkers,
  start,
  workflowOf,
} from '../support/machine/role-workers.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

beforeAll(openRoles);
afterEach(loseAll);
afterAll(closeRoles);

describe('workers of one role each', () => {
  it('leave a run waiting while one of them is missing, which doctor and readiness name, and continue it afterwards', async () => {
    for (const role of ['runs', 'models'] as const) await start(role);
    const { workflow_id, look } = await workflowOf();
    here.model.script(asks({ name: look, args: { seconds: SECONDS } }), says('Continued.'));
    const task_id = await here.prompt(workflow_id);
    await until('the call is planned', async () => (await callsOf(task_id)).length === 1, 60_000);
    const named = /None takes work from test-\w+-tools: runs wait until one is started \(perdura worker --role tools\)/;
    const missing = await until(
      'it is noticed',
      async () => {
        const said = await saidOfWorkers();
        return said.doctor.startsWith('FAILED') && said;
      },
      200_000,
    );
    expect(missing.doctor).toMatch(named);
    expect(missing.ready).toMatchObject({
      status: 'ready',
      checks: { workers: { ok: true, detail: expect.stringMatching(named) } },
    });
    expect(await callsOf(task_id)).toEqual([{ status: 'planned' }]);
    await start('tools');
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'Continued.' });
  }, 330_000);

  it.each(ROLES)(
    'lose the one with the role %s by kill -9 and continue with another one',
    async (role) => {
      for (const each of ROLES) await start(each);
      const { workflow_id, look } = await workflowOf();
      const half = role === 'models' ? [hangs('Half of ')] : [];
      here.model.script(asks({ name: look, args: { seconds: SECONDS } }), ...half, says('All of it.'));
      const asked = here.model.requests.length;
      const task_id = await here.prompt(workflow_id);
      await until('the tool is called', async () => (await callsOf(task_id))[0]?.status === 'started', 60_000);
      if (role === 'models') {
        await until('the model speaks', async () => here.model.requests.length === asked + 2, 60_000);
      }
      await lose(role);
      await start(role);
      expect(await here.ended(task_id, 90_000)).toMatchObject({ status: 'completed', response: 'All of it.', turns: 1 });
      expect((await resultsOf(task_id)).map((result) => result.includes('the key has'))).toEqual([true]);
    },
    240_000,
  );

  it('are named while work is left in their queues, also when no run sends more there', async () => {
    for (const role of ['runs', 'models'] as const) await start(role);
    const { workflow_id, look } = await workflowOf();
    here.model.script(asks({ name: look, args: { seconds: SECONDS } }));
    const task_id = await here.prompt(workflow_id);
    const off = async () => (await saidOfWorkers({ TEMPORAL_ROLE_QUEUES: 'false' })).doctor;
    await until('the queue is named', async () => /None takes work from test-\w+-tools: /.test(await off()), 120_000);
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`), 202);
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'halted' });
  }, 300_000);
});

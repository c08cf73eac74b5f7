import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startApiProcess } from '../support/machine/processes.ts';
import { says } from '../support/peers/model-server.ts';
import { redisIsInstalled, redisServer } from '../support/peers/redis.ts';
import { followChanges } from '../support/runs/changes.ts';
import { until } from '../support/until.ts';

/** Starts what a bus needs, and returns its settings. */
const BUSES: [string, () => Promise<{ env: Record<string, string>; close(): Promise<unknown> }>][] = [
  ['Postgres', async () => ({ env: {}, close: async () => {} })],
];
if (redisIsInstalled())
  BUSES.push([
    'Redis',
    async () => {
      const server = await redisServer();
      return { env: { REDIS_URL: server.url }, close: () => server.stop() };
    },
  ]);

describe.each(BUSES)('changes over %s', (_name, start) => {
  let bus: Awaited<ReturnType<typeof start>>;
  let here: TestInstallation;
  beforeAll(async () => {
    bus = await start();
    here = await startTestInstallation({ env: { TOOL_ISOLATION: 'none', ...bus.env } });
  });
  afterAll(async () => {
    await here?.stop();
    await bus?.close();
  });

  it('reach the streams of another API process, which ends them when it stops', { timeout: 60_000 }, async () => {
    const other = await startApiProcess(here.setting, bus.env);
    const [near, far] = [
      await followChanges(here.url, here.people.alice.token),
      await followChanges(other.client.url, other.token),
    ];
    const { id } = await here.alice.ok(here.alice.post('/api/skills', { name: 'Shared', instructions: 'x' }), 201);
    const skill = { kind: 'skills', id };
    await until('both learn of the skill', async () => [near, far].every(({ seen }) => seen.some((one) => one.id === id)));
    expect([near.seen.at(-1), far.seen.at(-1)]).toEqual([skill, skill]);

    // The worker of this process works on the run of the other person.
    const workflow_id = await here.workflow();
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    const theirs = await other.client.ok(other.client.post('/api/workflows', { agent_id }), 201);
    here.model.script(says('Done.'));
    const run = await other.client.ok(other.client.post(`/api/workflows/${theirs.id}/prompt`, { prompt: 'Do it.' }), 201);
    const ended = async () => (await other.client.get(`/api/tasks/${run.task_id}`)).body.status === 'completed';
    await until('the run has ended', ended);
    const last = await other.client.ok(other.client.post('/api/datasets', { name: 'Last' }), 201);
    await until('its end is reported', async () => far.seen.some((one) => one.id === last.id));
    expect(far.seen).toContainEqual({ kind: 'tasks', id: run.task_id, workflow_id: theirs.id });

    const fence = await here.alice.ok(here.alice.post('/api/datasets', { name: 'Fence' }), 201);
    await until('the fence is reported', async () => near.seen.some((one) => one.id === fence.id));
    const foreign: (string | null)[] = [run.task_id, theirs.id, last.id];
    expect(near.seen.filter((one) => foreign.includes(one.id))).toEqual([]);

    await other.api.end('SIGTERM');
    await far.ended;
    await near.leave();
  });
});

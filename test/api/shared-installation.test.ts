import { expect, it, onTestFinished } from 'vitest';
import { agedRecords } from '../support/database/aged.ts';
import { shareInstallation } from '../support/installation.ts';
import { hangs } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

async function share(options = {}) {
  const here = await shareInstallation(options);
  onTestFinished(() => here.stop().catch(() => {}));
  return here;
}

it('files with the same options share an installation, as different people', async () => {
  const [one, other, apart] = [await share(), await share(), await share({ worker: false })];
  expect(other.url).toBe(one.url);
  expect(apart.url).not.toBe(one.url);
  const workflow_id = await one.workflow();
  expect((await one.bob.get(`/api/workflows/${workflow_id}`)).status).toBe(403);
  expect((await other.alice.get(`/api/workflows/${workflow_id}`)).status).toBe(403);
  expect((await one.alice.get('/api/me')).body.id).toBe(one.people.alice.subject);
  expect((await one.bob.get('/api/me')).body.id).toBe(one.people.bob.subject);
});

it('what a file left running is halted, and its names are free for the next', async () => {
  const one = await share();
  one.model.script(hangs('I wait.'));
  const agent_id = await one.agent({ name: 'taken' });
  await one.sql(`UPDATE agents SET created_at = '2024-02-29' WHERE id = $1`, agent_id);
  const task_id = await one.prompt(await one.workflow());
  await until('it runs', async () => one.model.requests.length === 1);
  await one.stop();
  const next = await share();
  await until('it is halted', async () => {
    const [task] = await next.sql('SELECT status FROM tasks WHERE id = $1', task_id);
    return task.status === 'halted';
  });
  await next.agent({ name: 'taken' });
});

it('a file answers for its own events and not for those of an earlier file', async () => {
  const one = await share({ worker: false });
  const task_id = await agedRecords(one.core.database).task(new Date());
  await agedRecords(one.core.database).events(new Date(), task_id);
  await one.sql('UPDATE events SET data = $1 WHERE task_id = $2', { event: 'of_later', detail: '' }, task_id);
  await expect(one.stop()).rejects.toThrow('there is no such event');
  const next = await share({ worker: false });
  await next.stop();
});

import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { fails, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const logsOf = async (workflow_id: string) =>
  (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).logs as { event: string; wait_ms?: number }[];

it('all workers together keep to a provider’s requests a minute', async () => {
  const { id } = await here.alice.ok(
    here.alice.post('/api/providers', {
      name: 'slow',
      provider_type: 'openai_compatible',
      base_url: here.model.url,
      requests_per_minute: 20,
    }),
  );
  const { rates } = here.core.store;
  const asked = await Promise.all(Array.from({ length: 10 }, () => rates.admit(id, 20)));
  expect(asked.filter((ms) => ms === 0)).toHaveLength(2);
  expect(Math.max(...asked)).toBeLessThanOrEqual(3_000);
  await wait(Math.max(...asked) + 50);
  expect(await rates.admit(id, 20)).toBe(0);
});

it('a run waits for its provider’s rate limit, logs it, and does not fail', async () => {
  const values = {
    name: 'one at a time',
    provider_type: 'openai_compatible',
    base_url: here.model.url,
    default_model: 'm',
    requests_per_minute: 20,
  };
  const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', values));
  here.model.always(says('ok'));
  const workflows = [];
  for (let n = 0; n < 3; n += 1) workflows.push(await here.workflow({ agent: { provider_id } }));
  const tasks = await Promise.all(workflows.map((id) => here.prompt(id)));
  for (const task of tasks) expect(await here.ended(task, 25_000)).toMatchObject({ status: 'completed', error: null });
  const logs = (await Promise.all(workflows.map(logsOf))).flat();
  expect(logs.filter(({ event }) => event === 'rate_limited').length).toBeGreaterThan(0);
  expect(logs.filter(({ event }) => event === 'retry' || event === 'attempt_reset')).toEqual([]);
});

it('a limit of the provider’s own is waited for as long as it asks', async () => {
  const workflow_id = await here.workflow();
  here.model.script(fails(429, { headers: { 'retry-after': '1' } }), says('after all'));
  expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed', response: 'after all' });
  expect(await logsOf(workflow_id)).toContainEqual(expect.objectContaining({ event: 'rate_limited', wait_ms: 1_000 }));
});

it('a run that waits for a limit of its provider does not ask while others are answered', async () => {
  const limited = await here.workflow();
  here.model.script(fails(429, { headers: { 'retry-after': '300' } }));
  const task_id = await here.prompt(limited);
  const isLimited = async () =>
    (await logsOf(limited)).some(({ event, wait_ms }) => event === 'rate_limited' && wait_ms! >= 30_000);
  await until('the run waits', isLimited);
  const asked = here.model.requests.length;
  for (const text of ['the first of others', 'the second of others']) {
    here.model.script(says(text));
    expect(await here.ended(await here.prompt(await here.workflow()))).toMatchObject({ status: 'completed', response: text });
  }
  expect(here.model.requests.length).toBe(asked + 2);
  await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
  expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
});

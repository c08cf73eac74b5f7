import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
const workers: Child[] = [];

beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.end('SIGKILL');
});
afterAll(() => here.stop());

const startWorker = async () => workers.push(await startWorkerProcess(here.setting, { RECONCILE_SECONDS: '5' }));

const LIMIT = 1;
const RUNS = 50;
/** The 3 tokens of a prompt and the 47 of the longest answer, a dollar for a thousand. */
const CALL = 0.05;
const KILLS = process.env.EVERY_CASE ? 20 : 4;

it('holds while workers are killed during their calls: what is counted is what the runs paid, and nothing stays reserved', async () => {
  await startWorker();
  const usage = { prompt_tokens: 3, completion_tokens: 47, total_tokens: 50 };
  here.model.always(says('one two three', { pause_ms: 300, usage }));
  const provider = {
    ...{ name: 'priced', provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted' },
    price_table: { '*': { input: 1_000, output: 1_000 } },
  };
  const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', provider));
  const { id: agent_id } = await here.alice.ok(here.alice.post('/api/agents', { name: 'capped', provider_id }));
  const limits = { name: 'Team', scope: 'person', period: 'month', limit_usd: LIMIT };
  const { id } = await here.alice.ok(here.alice.post('/api/budgets', limits), 201);
  const settings = { agent_id, output_format: 'markdown', max_output_tokens: 47 };
  const workflow_ids: string[] = [];
  for (let n = 0; n < RUNS; n += 1) workflow_ids.push((await here.alice.ok(here.alice.post('/api/workflows', settings))).id);
  const tasks = await Promise.all(workflow_ids.map((workflow_id) => here.prompt(workflow_id)));
  const asked = () => here.model.requests.length;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = asked();
    await until('a call', async () => asked() > before, 120_000);
    await workers.shift()!.end('SIGKILL');
    await startWorker();
  }
  const count = async (status: string) =>
    (await here.sql('SELECT count(*)::int AS runs FROM tasks WHERE status = $1', status))[0].runs;
  // 19 calls are reserved in full, or one less; the last takes what is left.
  await until('the end or the wait of each', async () => (await count('completed')) + (await count('waiting')) === RUNS, 120_000);
  await until('the last call', async () => (await here.alice.ok(here.alice.get(`/api/budgets/${id}`))).left < 0.01, 120_000);
  await until('the release', async () => (await here.sql('SELECT 1 FROM budget_reservations')).length === 0, 60_000);
  const [{ paid }] = await here.sql('SELECT sum(cost) AS paid FROM tasks WHERE id = ANY ($1)', tasks);
  const { spent, reserved } = await here.alice.ok(here.alice.get(`/api/budgets/${id}`));
  expect(spent).toBeCloseTo(paid, 9);
  expect(spent).toBeLessThanOrEqual(LIMIT + CALL);
  const runs = Math.round(spent / CALL);
  await until('the end of each run that has paid', async () => (await count('completed')) === runs);
  expect(reserved).toBe(0);
  // The month ends: its period becomes another one, and the reconciler finds those that wait.
  await here.sql(`UPDATE budget_periods SET starts_at = starts_at - interval '32 days', ends_at = ends_at - interval '32 days'`);
  await until('the calls of the next month', async () => (await count('completed')) > runs, 120_000);
  await here.alice.ok(here.alice.put(`/api/budgets/${id}`, { limit_usd: 53 }));
  await until('all ends', async () => (await count('completed')) === RUNS, 120_000);
  await until('the last release', async () => (await here.sql('SELECT 1 FROM budget_reservations')).length === 0, 60_000);
}, 1_200_000);

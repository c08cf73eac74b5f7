import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTemporal, type Temporal } from '../../src/embedded/temporal.ts';
import { temporalForTests } from '../support/harness/embedded-temporal.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let home: string;
let temporal: Temporal;
let here: TestInstallation;
const lines: string[] = [];

const start = async () =>
  startTemporal({ executable: await temporalForTests(), home, log: () => {}, port: 29_233, ui_port: 29_833 });

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-emptied-'));
  temporal = await start();
  here = await startTestInstallation({
    env: { RECONCILE_SECONDS: '5' },
    setting: { temporal_address: temporal.address },
    log: (line) => lines.push(line),
  });
}, 120_000);
afterAll(async () => {
  await here?.stop();
  await temporal?.stop();
  await rm(home, { recursive: true, force: true });
}, 60_000);

/** The same server at the same address, with nothing in it. */
async function emptied(): Promise<void> {
  const { address } = temporal;
  await temporal.stop();
  const folder = join(home, 'temporal');
  for (const file of await readdir(folder)) if (file.startsWith('temporal.db')) await rm(join(folder, file));
  temporal = await start();
  expect(temporal.address).toBe(address);
}

it('an engine that was emptied under a living worker gets back its schedules and every run that had not ended', async () => {
  const tool = 'def stamp() -> dict:\n    """Stamps."""\n    return {"ok": 1}\n';
  const workflow_id = await here.workflow({ tools: [tool] });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  const { name } = await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`));
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
  here.model.script(asks({ name, args: {} }), says('Stamped.'));
  const task_id = await here.prompt(workflow_id);
  const task = () => here.alice.ok(here.alice.get(`/api/tasks/${task_id}`));
  await until('the run waits', async () => (await task()).status === 'waiting');
  const hourly = { name: 'hourly', prompt: 'p', interval_value: 1, interval_unit: 'hours', workflow_id };
  const schedule = await here.alice.ok(here.alice.post('/api/scheduled-agents', hourly), 201);
  expect(await here.driver.schedules.nextRun(schedule.id)).not.toBeNull();

  await emptied();
  const ready = async () => (await here.anonymous.get('/health/ready')).body.checks['engine setup'];
  const lacking = await until('readiness names what is missing', async () => {
    const check = await ready();
    return /lacks/.test(check.detail) && check;
  });
  expect(lacking).toMatchObject({ ok: false, detail: expect.stringContaining(here.setting.config.TEMPORAL_TASK_QUEUE) });
  await until('the engine is set up again', async () => (await ready()).ok, 60_000);
  await until('the schedule is back', () => here.driver.schedules.nextRun(schedule.id), 90_000);
  await until('the run is back', async () => (await here.driver.engine.state(task_id)) === 'waiting', 90_000);
  expect(lines.filter((line) => /The workflow engine has lost the schedule/.test(line))).not.toEqual([]);
  await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
  expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'Stamped.' });
}, 300_000);

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startMember } from '../chaos/fleet.ts';
import { rebuildTexts } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { envOf, startWorkerProcess } from '../support/machine/processes.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { recordHistory } from '../support/runs/recorded-history.ts';
import { reaches, resultsOf, toolOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

/** Longer than a busy machine needs to start a worker and to notice that another one is lost. */
const PATIENCE_MS = 90_000;

let here: TestInstallation;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-lost-'));
  here = await startTestInstallation({ worker: false });
});
afterAll(async () => {
  await here.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Appends its key to a file; the first time it takes longer than a worker here lives. */
const counting = (file: string, { effect, seconds }: { effect: string; seconds: number }) => `
import os, time
EFFECT = "${effect}"
def count() -> str:
  with open(${JSON.stringify(file)}, "a") as f:
      first = os.fstat(f.fileno()).st_size == 0
      f.write(os.environ["PERDURA_CALL_KEY"] + "\\n")
  if first: time.sleep(${seconds})
  return "counted"
`;
const countsIn = async (file: string) => (await readFile(file, 'utf8')).trim().split('\n');

let files = 0;
/** A run whose tool has begun to have its effect. */
async function begun(effect: string, seconds = 25) {
  const file = join(folder, `count-${++files}`);
  const workflow_id = await here.workflow({ tools: [counting(file, { effect, seconds })] });
  const { name } = await toolOf(here, workflow_id);
  here.model.script(asks({ name }));
  const task_id = await here.prompt(workflow_id);
  await until('the call', () => readFile(file, 'utf8').catch(() => ''));
  return { file, workflow_id, task_id };
}
const startWorker = () => startWorkerProcess(here.setting, { TOOL_ISOLATION: 'none' });

it('when a worker is lost, a call that reads is repeated without asking, one that writes only after a person decides', async () => {
  const worker = await startWorker();
  const [reads, again, done, failed] = [await begun('read'), await begun('write'), await begun('write'), await begun('write')];
  here.model.always(says('Finished.'));
  await worker.end('SIGKILL');
  const next = await startWorker();
  for (const { task_id, file } of [again, done, failed]) {
    await reaches(here, task_id, { status: 'waiting', timeout_ms: PATIENCE_MS });
    expect(await countsIn(file)).toEqual([`${task_id}:1-1`]);
  }
  const decisions = [
    [again, { decision: 'retry' }, 2, '{"result": "counted"}'],
    [done, { decision: 'done', result: { paid: true } }, 1, '{"paid":true}'],
    [failed, { decision: 'fail' }, 1, 'The tool call failed; its outcome is unknown.'],
  ] as const;
  for (const [{ task_id, file, workflow_id }, decision, times, result] of decisions) {
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/reconciliations/1-1`, decision));
    expect(await here.ended(task_id, PATIENCE_MS)).toMatchObject({ status: 'completed', response: 'Finished.' });
    expect(await countsIn(file)).toHaveLength(times);
    expect(await resultsOf(here, workflow_id)).toEqual([result]);
  }
  expect(await here.ended(reads.task_id, PATIENCE_MS)).toMatchObject({ status: 'completed' });
  expect(await countsIn(reads.file)).toEqual([`${reads.task_id}:1-1`, `${reads.task_id}:1-1`]);
  expect(await resultsOf(here, reads.workflow_id)).toEqual(['{"result": "counted"}']);
  expect(await next.end('SIGTERM')).toBe(0);
}, 240_000);

it('a worker that was only frozen harms nothing: a call is made once, and a step keeps one text', async () => {
  const worker = await startWorker();
  const writes = await begun('write', 6);
  here.model.always(says('Finished.'));
  const awake = Promise.withResolvers<void>();
  here.model.script(says('One two three four five.', { until: awake.promise }), says('Another answer, quickly.'));
  const workflow_id = await here.workflow();
  const speaks = await here.prompt(workflow_id);
  const stream = `/api/workflows/${workflow_id}/stream?task_id=${speaks}`;
  const events = here.alice.events(stream, { timeout_ms: 150_000 });
  await here.alice.events(stream, { enough: ({ type }) => type === 'message_delta' });
  worker.signal('SIGSTOP');
  const next = await startWorker();
  // The engine may hand a retry to the worker that is held up, a few times: its requests for work still stand.
  await reaches(here, speaks, { status: 'completed', timeout_ms: 120_000 });
  await reaches(here, writes.task_id, { status: 'waiting', timeout_ms: 120_000 });
  worker.signal('SIGCONT');
  awake.resolve();
  await wait(2_000);
  // It may have answered for itself meanwhile, if its tool's answer came before the news that it was given up.
  const decision = { decision: 'done', result: 'counted, says a person' };
  const { status } = await here.alice.post(`/api/tasks/${writes.task_id}/reconciliations/1-1`, decision);
  expect(await here.ended(writes.task_id)).toMatchObject({ status: 'completed' });
  expect(await countsIn(writes.file)).toHaveLength(1);
  const { logs } = (await here.alice.ok(here.alice.get(`/api/workflows/${writes.workflow_id}`))) as { logs: { event: string }[] };
  const decided = logs.filter(({ event }) => event === 'reconciliation_decided');
  expect(decided).toHaveLength(1);
  // The record says whose answer counts.
  const by_person = 'by' in decided[0]!;
  expect(status).toBe(by_person ? 200 : 409);
  expect(await resultsOf(here, writes.workflow_id)).toEqual([by_person ? 'counted, says a person' : '{"result": "counted"}']);
  const one = { texts: ['Another answer, quickly.'], unfinished: '' };
  expect(rebuildTexts(await events)).toEqual(one);
  expect(rebuildTexts(await here.alice.events(stream))).toEqual(one);
  expect(await Promise.all([worker.end('SIGTERM'), next.end('SIGTERM')])).toEqual([0, 0]);
}, 300_000);

it('halts a run that has lost its worker: it asks no model again, keeps what was said, and is not called failed', async () => {
  const worker = await startWorker();
  const workflow_id = await here.workflow();
  here.model.script(hangs('Half of '));
  const task_id = await here.prompt(workflow_id);
  await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
    enough: ({ type }) => type === 'message_delta',
  });
  await worker.end('SIGKILL');
  const asked = here.model.requests.length;
  expect((await here.alice.post(`/api/tasks/${task_id}/stop`)).status).toBe(202);
  const next = await startWorker();
  expect(await here.ended(task_id, PATIENCE_MS)).toMatchObject({ status: 'halted', error: null });
  expect(here.model.requests).toHaveLength(asked);
  const { messages } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  expect(messages.at(-1)).toMatchObject({ role: 'assistant', kind: 'partial', content: 'Half of ' });
  expect(await next.end('SIGTERM')).toBe(0);
}, 240_000);

it('a step that loses its worker again and again fails with its own error code', { timeout: 500_000 }, async () => {
  const env = { ...envOf(here.setting), TOOL_ISOLATION: 'none' };
  const worker = await startMember({ name: 'worker', command: 'worker', env, ready: /takes work/, log: () => {} });
  // The worker dies of what it asks for, as it does if an answer takes all of its memory.
  here.model.always(async (response) => {
    worker.signal('SIGKILL');
    response.destroy();
  });
  const before = here.model.requests.length;
  const workflow_id = await here.workflow();
  const [first, second] = [await here.prompt(workflow_id), await here.prompt(workflow_id)];
  const task = await here.ended(first, 480_000);
  expect(task).toMatchObject({ status: 'failed', error_code: 'worker_lost_repeatedly' });
  expect(task.error).toContain('The worker was lost 10 times in step 1');
  expect(here.model.requests.length - before).toBe(10);
  await recordHistory(here, first, 'worker-lost');
  // The next run in its lane is not held up.
  here.model.always(says('Finished.'));
  expect(await here.ended(second, 60_000)).toMatchObject({ status: 'completed', response: 'Finished.' });
  expect(await worker.stop()).toBe(0);
});

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rebuilt } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/model-server.ts';
import { type Child, startWorkerProcess } from '../support/processes.ts';
import { until } from '../support/until.ts';

const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';

let here: TestInstallation;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-effects-'));
  here = await startTestInstallation({ worker: false });
});
afterAll(async () => {
  await here.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The agent of a workflow and the name of its only tool. */
async function toolOf(workflow_id: string) {
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  const tool = await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`));
  return { agent_id, tool_id: tool.id as string, name: tool.name as string };
}

const reaches = (task_id: string, status: string, timeout_ms?: number) =>
  until(
    `the task is ${status}`,
    async () => (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).status === status,
    timeout_ms,
  );

const logsOf = async (workflow_id: string) =>
  (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).logs as { event: string; call_id?: string }[];
const resultsOf = async (workflow_id: string) =>
  (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).messages
    .filter(({ role }: { role: string }) => role === 'tool')
    .map(({ content }: { content: string }) => content);

describe('a call that needs approval', () => {
  let worker: Child;
  beforeAll(async () => {
    worker = await startWorkerProcess(here.setting);
  });
  afterAll(async () => {
    expect(await worker.end('SIGTERM')).toBe(0);
  });

  async function asked(then = [says('Finished.')]) {
    const workflow_id = await here.workflow({ tools: [ADD] });
    const { agent_id, name } = await toolOf(workflow_id);
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
    here.model.script(asks({ name, args: { a: 2, b: 3 } }), ...then);
    const task_id = await here.prompt(workflow_id);
    await reaches(task_id, 'waiting');
    return { workflow_id, task_id };
  }

  it('waits, runs once it is approved, and says who approved', async () => {
    const { workflow_id, task_id } = await asked();
    expect(await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).toMatchObject({ status: 'waiting' });
    expect((await here.bob.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' })).status).toBe(403);
    expect((await here.alice.post(`/api/tasks/${task_id}/reconciliations/1-1`, { decision: 'retry' })).status).toBe(409);
    expect((await here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' })).status).toBe(200);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Finished.' });
    expect(await resultsOf(workflow_id)).toEqual(['{"result": 5}']);
    const events = (await logsOf(workflow_id)).map(({ event }) => event);
    expect(events).toEqual(expect.arrayContaining(['approval_requested', 'approval_decided', 'tool_call']));
    expect((await here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' })).status).toBe(409);
  });

  it('returns a denial to the model', async () => {
    const { workflow_id, task_id } = await asked();
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'deny', message: 'too dear' }));
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
    expect(await resultsOf(workflow_id)).toEqual(['Denied by a person: too dear']);
  });

  it('is closed in the transcript when the run is halted instead', async () => {
    const { workflow_id, task_id } = await asked([]);
    const start = Date.now();
    expect((await here.alice.post(`/api/workflows/${workflow_id}/halt`)).status).toBe(200);
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
    expect(Date.now() - start).toBeLessThan(2_000);
    expect(await resultsOf(workflow_id)).toEqual(['The run ended before this tool was called.']);
  });

  it('survives the worker, and accepts a decision made while no worker runs', async () => {
    const { task_id } = await asked();
    await worker.end('SIGKILL');
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
    worker = await startWorkerProcess(here.setting);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
  });
});

describe('when a worker is lost', () => {
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
    const { name } = await toolOf(workflow_id);
    here.model.script(asks({ name }));
    const task_id = await here.prompt(workflow_id);
    await until('the call', () => readFile(file, 'utf8').catch(() => ''));
    return { file, workflow_id, task_id };
  }
  const startWorker = () => startWorkerProcess(here.setting, { TOOL_ISOLATION: 'none' });

  it('a call that reads is repeated without asking, one that writes only after a person decides', async () => {
    const worker = await startWorker();
    const [reads, again, done, failed] = [await begun('read'), await begun('write'), await begun('write'), await begun('write')];
    here.model.always(says('Finished.'));
    await worker.end('SIGKILL');
    const next = await startWorker();
    for (const { task_id, file } of [again, done, failed]) {
      await reaches(task_id, 'waiting', 30_000);
      expect(await countsIn(file)).toEqual([`${task_id}:1-1`]);
    }
    const decisions = [
      [again, { decision: 'retry' }, 2, '{"result": "counted"}'],
      [done, { decision: 'done', result: { paid: true } }, 1, '{"paid":true}'],
      [failed, { decision: 'fail' }, 1, 'The tool call failed; its outcome is unknown.'],
    ] as const;
    for (const [{ task_id, file, workflow_id }, decision, times, result] of decisions) {
      await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/reconciliations/1-1`, decision));
      expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Finished.' });
      expect(await countsIn(file)).toHaveLength(times);
      expect(await resultsOf(workflow_id)).toEqual([result]);
    }
    expect(await here.ended(reads.task_id, 30_000)).toMatchObject({ status: 'completed' });
    expect(await countsIn(reads.file)).toEqual([`${reads.task_id}:1-1`, `${reads.task_id}:1-1`]);
    expect(await resultsOf(reads.workflow_id)).toEqual(['{"result": "counted"}']);
    expect(await next.end('SIGTERM')).toBe(0);
  }, 90_000);

  it('only seemingly, it harms nothing: a call is made once, and a step keeps one text', async () => {
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
    await reaches(speaks, 'completed', 120_000);
    await reaches(writes.task_id, 'waiting', 120_000);
    worker.signal('SIGCONT');
    awake.resolve();
    await wait(2_000);
    const decision = { decision: 'done', result: 'counted, says a person' };
    const { status } = await here.alice.post(`/api/tasks/${writes.task_id}/reconciliations/1-1`, decision);
    expect(await here.ended(writes.task_id)).toMatchObject({ status: 'completed' });
    expect(await countsIn(writes.file)).toHaveLength(1);
    // Either the tool's answer came before the news that its worker was given up, or the person's: the record says whose counts.
    const decided = (await logsOf(writes.workflow_id)).filter(({ event }) => event === 'reconciliation_decided');
    expect(decided).toHaveLength(1);
    const by_person = 'by' in decided[0]!;
    expect(status).toBe(by_person ? 200 : 409);
    expect(await resultsOf(writes.workflow_id)).toEqual([by_person ? 'counted, says a person' : '{"result": "counted"}']);
    const one = { texts: ['Another answer, quickly.'], unfinished: '' };
    expect(rebuilt(await events)).toEqual(one);
    expect(rebuilt(await here.alice.events(stream))).toEqual(one);
    expect(await Promise.all([worker.end('SIGTERM'), next.end('SIGTERM')])).toEqual([0, 0]);
  }, 160_000);
});

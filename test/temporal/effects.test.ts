import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { reaches, resultsOf, toolOf } from '../support/runs/run-facts.ts';

const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(() => here.stop());

const logsOf = async (workflow_id: string) =>
  (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).logs as { event: string; call_id?: string }[];

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
    const { agent_id, name } = await toolOf(here, workflow_id);
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
    here.model.script(asks({ name, args: { a: 2, b: 3 } }), ...then);
    const task_id = await here.prompt(workflow_id);
    await reaches(here, task_id, { status: 'waiting' });
    return { workflow_id, task_id };
  }

  it('waits, runs once it is approved, and says who approved', async () => {
    const { workflow_id, task_id } = await asked();
    expect(await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).toMatchObject({ status: 'waiting' });
    expect((await here.bob.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' })).status).toBe(403);
    expect((await here.alice.post(`/api/tasks/${task_id}/reconciliations/1-1`, { decision: 'retry' })).status).toBe(409);
    expect((await here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' })).status).toBe(200);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Finished.' });
    expect(await resultsOf(here, workflow_id)).toEqual(['{"result": 5}']);
    const events = (await logsOf(workflow_id)).map(({ event }) => event);
    expect(events).toEqual(expect.arrayContaining(['approval_requested', 'approval_decided', 'tool_call']));
    expect((await here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' })).status).toBe(409);
  });

  it('returns a denial to the model', async () => {
    const { workflow_id, task_id } = await asked();
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'deny', message: 'too dear' }));
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
    expect(await resultsOf(here, workflow_id)).toEqual(['Denied by a person: too dear']);
  });

  it('is closed in the transcript when the run is halted instead', async () => {
    const { workflow_id, task_id } = await asked([]);
    expect((await here.alice.post(`/api/workflows/${workflow_id}/halt`)).status).toBe(200);
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
    expect(await resultsOf(here, workflow_id)).toEqual(['The run ended before this tool was called.']);
  });

  it('survives the worker, and accepts a decision made while no worker runs', async () => {
    const { task_id } = await asked();
    await worker.end('SIGKILL');
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
    worker = await startWorkerProcess(here.setting);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
  });
});

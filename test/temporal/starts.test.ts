import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

/** The tasks whose turn has ended before the longest time of a turn, as far as it is reported. */
function reported() {
  const begun = vi.spyOn(here.core.starts, 'endTurn');
  return () => begun.mock.calls.map(([task_id]) => task_id);
}

const stop = (task_id: string) => here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));

describe('runs', () => {
  it('start as soon as the models of those before are asked', async () => {
    const begun = reported();
    here.model.script(hangs('Half'));
    const task_id = await here.prompt(await here.workflow());
    await until('it is reported', async () => begun().includes(task_id));
    await stop(task_id);
  });

  it('that wait for their lane keep no turn', async () => {
    const begun = reported();
    here.model.script(hangs('Half'), says('Done.'));
    const workflow_id = await here.workflow();
    const first = await here.prompt(workflow_id);
    const second = await here.prompt(workflow_id);
    expect(begun()).toContain(second);
    await until('the model of the first is asked', async () => begun().includes(first));
    await stop(first);
    expect(await here.ended(second)).toMatchObject({ status: 'completed' });
  });
});

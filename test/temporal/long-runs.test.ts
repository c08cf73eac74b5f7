import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toRunId } from '../../src/temporal/names.ts';
import { rebuildTexts } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { leftBehind, startRenewing } from '../support/machine/left-behind.ts';
import { asks, says } from '../support/peers/model-server.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const TODO = { name: 'manage_todo_list', args: { todoList: [] } };
const LARGEST_PAYLOAD = 256 * 1024;

/** Bytes of history between one step and the next. */
async function bytesOfSteps(task_id: string): Promise<number[]> {
  const { events } = await here.driver.client.workflow.getHandle(toRunId(task_id)).fetchHistory();
  const sizes: number[] = [];
  expect(events).not.toHaveLength(0);
  for (const event of events ?? []) {
    const size = JSON.stringify(event).length;
    expect(size).toBeLessThan(LARGEST_PAYLOAD);
    if (event.activityTaskScheduledEventAttributes?.activityType?.name === 'exchange') sizes.push(0);
    if (sizes.length > 0) sizes[sizes.length - 1]! += size;
  }
  return sizes;
}

describe('a long run', () => {
  it('costs the engine the same for each turn, however much its tools say', { timeout: 120_000 }, async () => {
    const rounds = 60;
    const workflow_id = await here.workflow({
      tools: ['EFFECT = "read"\ndef page(n: int) -> str:\n    return "x" * 5000\n'],
      workflow: { max_turns: 1_000 },
    });
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    const { name } = await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`));
    here.model.script(...Array.from({ length: rounds }, (_, n) => asks({ name, args: { n } })), says('At last.'));
    const task_id = await here.prompt(workflow_id);
    expect(await here.ended(task_id, 110_000)).toMatchObject({ status: 'completed', turns: rounds });
    const steps = await bytesOfSteps(task_id);
    expect(steps).toHaveLength(rounds + 1);
    const mean = (of: number[]) => of.reduce((sum, size) => sum + size, 0) / of.length;
    const [early, late] = [mean(steps.slice(1, 21)), mean(steps.slice(-21, -1))];
    expect(late / early).toBeGreaterThan(0.9);
    expect(late / early).toBeLessThan(1.1);
    // Counted with each byte of a payload spelled out as a number, so that one body of 5 KB would show.
    expect(early).toBeLessThan(10_000);
  });

  it('continues in a new history without a visible difference', { timeout: 60_000 }, async () => {
    const rounds = 7;
    const workflow_id = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] }, workflow: { max_turns: 20 } });
    here.model.script(...Array.from({ length: rounds }, () => asks(TODO)), says('All in one piece.'));
    const task_id = await leftBehind(here, workflow_id);
    const watched = here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, { timeout_ms: 50_000 });
    await startRenewing(here, task_id, { max_turns: 20, renew_after: 2 });
    const events = await watched;
    expect(rebuildTexts(events).texts.at(-1)).toBe('All in one piece.');
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', turns: rounds, steps: rounds + 1 });
    expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
    // The last execution of the chain holds what came after the last renewal only.
    expect((await bytesOfSteps(task_id)).length).toBeLessThanOrEqual(2);
  });
});

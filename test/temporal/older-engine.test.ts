import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcile } from '../../src/temporal/repair/reconcile-tasks.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { labelsOf, leftBehind } from '../support/machine/left-behind.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { RECONCILE_SECONDS: '3600' } });
});
afterAll(() => here.stop());

const sql = (text: string, ...values: unknown[]) => here.core.database.pool.query(text, values);

const compareLater = () => {
  const { store } = here.core;
  const { engine, settle } = here.driver;
  const definition = (hash: string) => store.definitions.get(hash);
  return reconcile({ store, engine, settle, definition, now: () => new Date(Date.now() + 60_000) });
};

const parked = (task_id: string) => until('the run waits', async () => (await here.driver.engine.state(task_id)) === 'waiting');
const statusIs = (task_id: string, status: string) =>
  until(status, async () => (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).status === status);

/** Each puts the record ahead of what the engine knows, as a record is that was restored to a later time than its engine. */
describe('a run that waits in the engine for what is on record continues', () => {
  it('when it holds its lane', async () => {
    const workflow_id = await here.workflow();
    const task_id = await leftBehind(here, workflow_id);
    await here.driver.engine.start({ task_id, max_turns: 5, queued: true }, labelsOf(workflow_id));
    await parked(task_id);
    await sql(`UPDATE tasks SET status = 'running', started_at = now() WHERE id = $1`, task_id);
    here.model.script(says('Continued.'));
    await compareLater();
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Continued.' });
  });

  it('when a person has decided, and the call has its result', async () => {
    const source = `def order(q: str) -> str:\n    """Orders."""\n    raise RuntimeError("called again")\n`;
    const workflow_id = await here.workflow({ tools: [source] });
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    const agent = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    const tool = await here.alice.ok(here.alice.get(`/api/custom-tools/${agent.custom_tool_ids[0]}`));
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [tool.name] }));
    here.model.script(asks({ name: tool.name, args: { q: 'one' }, id: 'c' }), says('Ordered.'));
    const task_id = await here.prompt(workflow_id);
    await statusIs(task_id, 'waiting');
    await parked(task_id);
    await sql(`UPDATE tool_calls SET status = 'done', failed = false, ended_at = now() WHERE task_id = $1`, task_id);
    await sql(
      `INSERT INTO task_messages (task_id, step, position, role, kind, content, call_id)
        SELECT task_id, step, position, 'tool', 'result', 'ordered earlier', call_id FROM tool_calls WHERE task_id = $1`,
      task_id,
    );
    await sql(`UPDATE tasks SET status = 'running' WHERE id = $1`, task_id);
    await compareLater();
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Ordered.' });
    expect(here.model.requests.at(-1)!.messages.at(-1)!.content).toBe('ordered earlier');
  });

  it('when its budget was raised', async () => {
    const workflow_id = await here.workflow({ workflow: { budget: { max_tokens: 1, on_exhausted: 'wait' } } });
    const task_id = await here.prompt(workflow_id);
    await statusIs(task_id, 'waiting');
    await parked(task_id);
    const budget = { max_cost_usd: null, max_tokens: 100_000, max_seconds: null, on_exhausted: 'wait' };
    await sql(`UPDATE tasks SET status = 'running', budget = $2 WHERE id = $1`, task_id, JSON.stringify(budget));
    here.model.script(says('Raised.'));
    await compareLater();
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Raised.' });
  });

  it('and one that waits for a person on record too is left alone', async () => {
    const workflow_id = await here.workflow({ workflow: { budget: { max_tokens: 1, on_exhausted: 'wait' } } });
    const task_id = await here.prompt(workflow_id);
    await statusIs(task_id, 'waiting');
    await parked(task_id);
    await compareLater();
    const logs = async () => (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).logs as { event: string }[];
    await compareLater();
    expect((await logs()).filter(({ event }) => event === 'budget_exhausted')).toHaveLength(1);
    await here.alice.ok(here.alice.post(`/api/workflows/${workflow_id}/halt`));
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
  });
});

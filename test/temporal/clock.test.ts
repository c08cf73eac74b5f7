import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findNextDue } from '../../src/domain/cadence.ts';
import { reconcile } from '../../src/temporal/repair/reconcile-tasks.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { leftBehind } from '../support/machine/left-behind.ts';
import { type Answer, asks, hangs, says } from '../support/peers/model-server.ts';

const DAY_MS = 86_400_000;
const WAITS = `def waits() -> str:
    """Waits."""
    return "waited"
`;

const callsTool: Answer = (response, request) => asks({ name: request.tools![0]!.function.name, args: {} })(response, request);

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

const sql = (text: string, ...values: unknown[]) => here.core.database.pool.query(text, values);

/** The reconciler of a worker whose clock is off by so much. */
const reconcileOff = (off_ms: number) => {
  const { store } = here.core;
  const { engine, settle } = here.driver;
  const definition = (hash: string) => store.definitions.get(hash);
  return reconcile({ store, engine, settle, definition, now: () => new Date(Date.now() + off_ms) });
};

describe('after the clock was set back by a day', () => {
  it('a task without an execution is started, and an execution without a task is ended', async () => {
    const task_id = await leftBehind(here, await here.workflow());
    here.model.script(says('Found again.'));
    expect((await reconcileOff(-DAY_MS)).restarted).toBe(1);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Found again.' });

    here.model.script(hangs('Half'));
    const workflow_id = await here.workflow();
    const stray = await here.prompt(workflow_id);
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${stray}`, {
      enough: ({ type }) => type === 'message_delta',
    });
    await sql(`UPDATE tasks SET status = 'completed', completed_at = now() WHERE id = $1`, stray);
    await expect.poll(async () => (await reconcileOff(-DAY_MS)).strays).toBe(1);
  });

  it('a request that lost its server is continued with its key, not refused for a day', async () => {
    const { idempotency } = here.core.store;
    const place = { principal: 'p', key: 'back' };
    const first = await idempotency.claim(place, 'hash');
    expect(await idempotency.claim(place, 'hash')).toEqual({ kind: 'busy' });
    await sql(`UPDATE idempotency_keys SET created_at = created_at + interval '1 day' WHERE key = 'back'`);
    expect(await idempotency.claim(place, 'hash')).toEqual({ ...first, claim: 2 });
  });

  it('a provider is asked again at once, and keeps its rate', async () => {
    const values = { name: 'rated', provider_type: 'openai_compatible', base_url: here.model.url, requests_per_minute: 20 };
    const { id } = await here.alice.ok(here.alice.post('/api/providers', values));
    const { rates } = here.core.store;
    await rates.admit(id, 20);
    await sql(`UPDATE provider_rates SET next_at = next_at + interval '1 day' WHERE provider_id = $1`, id);
    // The table keeps milliseconds, so a request in the same one as the last may have to wait until it is over, and takes nothing.
    const ask = async (): Promise<number> => {
      const wait_ms = await rates.admit(id, 20);
      return wait_ms === 1 ? ask() : wait_ms;
    };
    const asked = [await ask(), await ask(), await ask()];
    expect(asked.slice(0, 2)).toEqual([0, 0]);
    expect(asked[2]).toBeGreaterThan(0);
    expect(asked[2]).toBeLessThanOrEqual(3_000);
  });

  it('the messages of a chat keep their order', async () => {
    const { alice } = here;
    const { agent_id } = await alice.ok(alice.get(`/api/workflows/${await here.workflow()}`));
    const path = `/api/agents/${agent_id}/chat`;
    here.model.script(says('1.'), says('2.'), says('3.'));
    const opened = await alice.post(path, { message: 'one' });
    const session_id = /"session_id":"([^"]+)"/.exec(String(opened.body))![1]!;
    await sql(`UPDATE tasks SET created_at = created_at + interval '1 day' WHERE thread_id = $1`, session_id);
    for (const message of ['two', 'three']) expect((await alice.post(path, { message, session_id })).body).toContain('"done"');
    const { messages } = await alice.ok(alice.get(`${path}/sessions/${session_id}`));
    expect(messages.map(({ content }: { content: string }) => content)).toEqual(['one', '1.', 'two', '2.', 'three', '3.']);
  });

  it('a due time is served although it was recorded as missed while the clock was ahead', async () => {
    const { scheduledAgents } = here.core.store;
    const values = {
      workflow_id: await here.workflow(),
      name: 'hourly',
      prompt: 'Report.',
      interval_value: 1,
      interval_unit: 'hours',
    };
    const { id } = await here.alice.ok(here.alice.post('/api/scheduled-agents', values));
    const row = (await scheduledAgents.find(id))!;
    await scheduledAgents.noteMissed(row, Date.now() + DAY_MS);
    const start = row.start_at.getTime();
    const due_at = new Date(
      findNextDue({ interval_value: 1, interval_unit: 'hours', start_at: start, end_at: null }, Date.now())!,
    );
    const outcomes = async () => (await sql('SELECT outcome FROM schedule_fires WHERE due_at = $1', due_at)).rows;
    expect(await outcomes()).toEqual([{ outcome: 'missed' }]);
    const claim = await scheduledAgents.claimFire(id, due_at);
    expect(claim.is_settled).toBe(false);
    expect(await outcomes()).toEqual([{ outcome: 'firing' }]);
    expect(await scheduledAgents.claimFire(id, due_at)).toEqual(claim);
  });
});

describe.each([
  ['back', -DAY_MS],
  ['forward', DAY_MS],
])('API and worker whose clock is set %s by a day, while database and engine keep the time', (_, off_ms) => {
  beforeAll(() => {
    vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true });
    vi.setSystemTime(Date.now() + off_ms);
  });
  afterAll(() => {
    vi.useRealTimers();
  });

  it('carry out a run, and count its seconds by the clock that noted its start', async () => {
    const workflow_id = await here.workflow({ tools: [WAITS], workflow: { budget: { max_seconds: 600, on_exhausted: 'halt' } } });
    const seen: number[] = [];
    here.model.script(callsTool, async (response, request) => {
      const [{ elapsed_seconds }] = (await here.alice.ok(here.alice.get(`/api/tasks?workflow_id=${workflow_id}`))) as any;
      seen.push(elapsed_seconds);
      await says('Done.')(response, request);
    });
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed', response: 'Done.' });
    expect(seen[0]).toBeGreaterThanOrEqual(0);
  });

  it('halt a run', async () => {
    const workflow_id = await here.workflow();
    here.model.script(hangs('Half'));
    const task_id = await here.prompt(workflow_id);
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
      enough: ({ type }) => type === 'message_delta',
    });
    await here.alice.ok(here.alice.post(`/api/workflows/${workflow_id}/halt`));
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
  });

  it('replay a repeated request', async () => {
    const workflow_id = await here.workflow();
    here.model.script(says('Once.'));
    const prompt = () =>
      here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'Once.' }, { 'idempotency-key': `once ${off_ms}` });
    const [first, again] = [await prompt(), await prompt()];
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body).toEqual(first.body);
    await here.ended(first.body.task_id);
  });

  it('trigger a schedule', async () => {
    const values = {
      workflow_id: await here.workflow(),
      name: 'weekly',
      prompt: 'Report.',
      interval_value: 1,
      interval_unit: 'weeks',
    };
    const { id } = await here.alice.ok(here.alice.post('/api/scheduled-agents', values));
    here.model.script(says('Reported.'));
    const { task_id } = await here.alice.ok(here.alice.post(`/api/scheduled-agents/${id}/trigger`));
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Reported.' });
  });
});

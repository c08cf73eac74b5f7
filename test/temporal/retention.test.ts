import { existsSync, mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../src/main/config.ts';
import { createTidying } from '../../src/main/wiring/runs/tidying.ts';
import { reconcilerScheduleId } from '../../src/temporal/names.ts';
import { sweep } from '../../src/temporal/repair/retention.ts';
import { planFork } from '../../src/temporal/start/fork.ts';
import { prepareEngine } from '../../src/temporal/worker/housekeeping.ts';
import type { StreamedEvent } from '../support/client.ts';
import { daysAgo } from '../support/database/aged.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { leftBehind } from '../support/machine/left-behind.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-retention-'));
  // Only one at a time removes records, so the worker does it when a test triggers it.
  here = await startTestInstallation({ env: { RETENTION_DAYS: '30', RECONCILE_SECONDS: '3600', PERDURA_HOME: home } });
});
afterAll(async () => {
  await here.stop();
  await rm(home, { recursive: true, force: true });
});

const sql = (text: string, ...values: unknown[]) => here.core.database.pool.query(text, values);
/** Now, and not when the worker next does. */
const removeOld = () => sweep(here.core.store.retention.ended(daysAgo(30)), 30_000);

async function run(workflow_id: string, text = 'Done.'): Promise<string> {
  here.model.script(says(text));
  const task_id = await here.prompt(workflow_id);
  await here.ended(task_id);
  return task_id;
}
const age = (...ids: string[]) => sql('UPDATE tasks SET completed_at = $2 WHERE id = ANY ($1)', ids, daysAgo(40));
const streamed = (workflow_id: string, after?: number) =>
  here.alice.events(`/api/workflows/${workflow_id}/stream${after === undefined ? '' : `?after=${after}`}`, {
    enough: ({ type, data }) => type === 'status' && data.status === 'completed',
  });
const texts = (events: StreamedEvent[]) =>
  events.filter(({ type, data }) => type === 'message' && data.role === 'assistant').map(({ data }) => data.content);

describe('housekeeping', () => {
  it('removes old tasks, and what they kept on disk', async () => {
    const workflow_id = await here.workflow();
    const [old, young] = [await run(workflow_id), await run(workflow_id)];
    const workspace = (task_id: string) => join(home, 'workspaces', task_id);
    const strange = uuid({ msecs: daysAgo(40).getTime() });
    const recent = uuid();
    for (const task_id of [strange, recent]) mkdirSync(workspace(task_id), { recursive: true });
    await age(old);
    const worker = here.driver.client.schedule.getHandle(reconcilerScheduleId(here.core.setting.config.TEMPORAL_TASK_QUEUE));
    const isRemoved = async () => {
      await Promise.all([worker.trigger(), createTidying(here.core)()]);
      return !existsSync(workspace(strange)) && (await here.alice.get(`/api/tasks/${old}`)).status === 404;
    };
    await until('what is old is removed', isRemoved, 40_000);
    expect((await here.alice.get(`/api/tasks/${young}`)).status).toBe(200);
    const { events } = await here.core.store.events.read(workflow_id, { after: 0, bytes: 1_000_000 });
    expect(new Set(events.map(({ task_id }) => task_id))).toEqual(new Set([young]));
    expect(existsSync(workspace(recent))).toBe(true);
  });

  it('makes partitions of events before they are needed', async () => {
    const workflow_id = await here.workflow();
    const today = new Date().toISOString().slice(0, 10).replaceAll('-', '');
    await until('the worker makes partitions', async () => {
      const { rows } = await sql(`SELECT to_regclass($1) IS NOT NULL AS made`, `events_deltas_${today}`);
      return rows[0].made;
    });
    const task_id = await run(workflow_id);
    const { rows } = await sql(`SELECT DISTINCT tableoid::regclass::text AS name FROM events WHERE task_id = $1`, task_id);
    expect(rows.filter(({ name }) => !/^events_(deltas|lasting)_\d{8}$/.test(name))).toEqual([]);
  });

  it('removes nothing that has ended if nothing is to be removed', async () => {
    const task_id = await run(await here.workflow());
    await age(task_id);
    const { core } = here;
    const config = readConfig({ PERDURA_HOME: home });
    expect(config.RETENTION_DAYS).toBe(0);
    expect(await createTidying({ ...core, setting: { ...core.setting, config } })()).not.toHaveProperty('tasks');
    expect((await here.alice.get(`/api/tasks/${task_id}`)).status).toBe(200);
  });

  it('goes by the clock of the database, not by that of its worker', async () => {
    const task_id = await run(await here.workflow());
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 400 * 86_400_000 });
    try {
      await createTidying(here.core)();
    } finally {
      vi.useRealTimers();
    }
    expect((await here.alice.get(`/api/tasks/${task_id}`)).status).toBe(200);
  });

  it('keeps what a clock that jumped ahead makes old, and removes it some hours later', async () => {
    const task_id = await run(await here.workflow());
    await age(task_id);
    // As if the clock had jumped by 12.5 days since the last look: the task was 27.5 days old then.
    await sql(`UPDATE installation_facts SET value = (now() - interval '12.5 days')::text WHERE name = 'aging_clock'`);
    expect(await createTidying(here.core)()).not.toHaveProperty('tasks');
    await createTidying(here.core)();
    expect(await createTidying(here.core)()).toMatchObject({ tasks: 1 });
    expect((await here.alice.get(`/api/tasks/${task_id}`)).status).toBe(404);
  });

  it('of a worker notes how large the installation is', async () => {
    const [first] = await until('a sample', async () => {
      const samples = await here.core.store.sizes.samples();
      return samples.length > 0 && samples;
    });
    expect(first).toMatchObject({ engine: null, home: expect.any(Number), disk_free: expect.any(Number) });
    expect(first?.database).toBeGreaterThan(1_000_000);
  });
});

it('a namespace keeps ended runs for as long as was set when it was created; one that exists is left alone', async () => {
  const { connection } = here.driver.client;
  const namespace = `kept-${uuid()}`;
  const client = new Client({ connection, namespace });
  const prepare = (retention_days: number) =>
    // The engine learns of a new namespace a little later.
    until('the engine is prepared', () =>
      prepareEngine({ client, task_queue: namespace, every_seconds: 3_600, retention_days }).then(
        () => true,
        () => false,
      ),
    );
  for (const days of [3, 5]) {
    await prepare(days);
    const { config } = await client.workflowService.describeNamespace({ namespace });
    expect(tsToMs(config?.workflowExecutionRetentionTtl)).toBe(3 * 86_400_000);
  }
  await client.schedule.getHandle(`reconcile-${namespace}`).delete();
});

describe('next to a reader', () => {
  it('a stream that starts behind the removed events has all others, and numbers continue', async () => {
    const workflow_id = await here.workflow();
    const [first, kept] = [await run(workflow_id, 'First.'), await run(workflow_id, 'Kept.')];
    const all = await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${kept}&after=0`);
    await age(first);
    await removeOld();
    const again = await streamed(workflow_id, 0);
    expect(again.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
    await run(workflow_id, 'Next.');
    const next = await streamed(workflow_id, all.at(-1)?.id);
    expect(next[0]?.id).toBe((all.at(-1)?.id ?? 0) + 1);
    expect(texts(next)).toEqual(['Next.']);
  });

  it('a stream without a position shows nothing of earlier runs if the last one was removed', async () => {
    const workflow_id = await here.workflow();
    const [source, last] = [await run(workflow_id, 'Source.'), await run(workflow_id, 'Last.')];
    await age(last);
    await removeOld();
    const { messages, last_task_status } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    expect([messages, last_task_status]).toEqual([[], 'completed']);
    here.model.script(says('New.'));
    const reading = streamed(workflow_id);
    await here.prompt(workflow_id);
    expect(texts(await reading)).toEqual(['New.']);
    expect((await here.alice.get(`/api/tasks/${source}`)).status).toBe(200);
  });

  it('a live stream misses nothing of its run', async () => {
    const workflow_id = await here.workflow();
    await age(await run(workflow_id));
    here.model.script(hangs('Half'));
    const task_id = await here.prompt(workflow_id);
    const reading = here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}&after=0`);
    await until(
      'text is streamed',
      async () => (await sql(`SELECT 1 FROM events WHERE task_id = $1 AND type = 'message_delta'`, task_id)).rows.length > 0,
    );
    await removeOld();
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    const events = await reading;
    expect(events.at(-1)?.data).toMatchObject({ status: 'halted' });
    const stored = await sql('SELECT seq FROM events WHERE task_id = $1 ORDER BY seq', task_id);
    expect(events.map(({ id }) => id)).toEqual(stored.rows.map(({ seq }) => seq));
  });

  it('a list continues at its cursor, also if the task that it names was removed', async () => {
    const workflow_id = await here.workflow();
    const ids: string[] = [];
    for (let made = 0; made < 4; made += 1) ids.unshift(await run(workflow_id));
    const path = `/api/tasks/workflow/${workflow_id}?limit=2`;
    const first = await here.alice.get(path);
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    await age(ids[1]!, ids[2]!);
    await removeOld();
    const second = await here.alice.get(next);
    expect([first, second].map(({ body }) => (body as { id: string }[]).map(({ id }) => id))).toEqual([
      ids.slice(0, 2),
      ids.slice(3),
    ]);
    expect(second.headers.get('x-total-count')).toBe('2');
  });
});

describe('a fork', () => {
  const tool = { name: 'manage_todo_list', args: { todoList: [] } };
  const source = async () => {
    const workflow_id = await here.workflow({ agent: { builtin_tools: [tool.name] } });
    here.model.script(asks(tool), says('Source.'));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    await age(task_id);
    return task_id;
  };

  it('keeps the task that it was forked from', async () => {
    const task_id = await source();
    here.model.script(says('Fork.'));
    const forked = await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/fork`, { from_step: 2 }), 201);
    await removeOld();
    expect(await here.ended(forked.task_id)).toMatchObject({ status: 'completed', response: 'Fork.' });
    await removeOld();
    expect((await here.alice.get(`/api/tasks/${task_id}`)).status).toBe(200);
  });

  it('of a task that is removed at this moment is refused, and leaves nothing', async () => {
    const task_id = await source();
    const { store } = here.core;
    const task = (await store.tasks.find(task_id))!;
    const { definition, seed } = await planFork(store, { source: task, from_step: 2, effects: 'recorded' });
    await removeOld();
    const tasks = async () => (await store.tasks.list({ workflow_id: task.workflow_id, limit: 10 })).total;
    expect(await tasks()).toBe(0);
    await expect(leftBehind(here, task.workflow_id, { definition, seed, trigger: 'fork' })).rejects.toMatchObject({
      kind: 'not_found',
    });
    expect(await tasks()).toBe(0);
  });
});

it('a prompt whose definition is removed at the same moment stores it again', async () => {
  const workflow_id = await here.workflow();
  await run(workflow_id);
  // Once, between the check that it is there and the check of the foreign key, whose trigger comes later in the alphabet.
  await sql('CREATE SEQUENCE removals');
  await sql(`CREATE FUNCTION a_remove_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('removals') = 1 THEN DELETE FROM definitions WHERE hash = NEW.definition_hash; END IF;
    RETURN NULL; END $$`);
  await sql('CREATE TRIGGER a_remove_once AFTER INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION a_remove_once()');
  here.model.script(says('Stored.'));
  const task_id = await here.prompt(workflow_id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Stored.' });
  await sql('DROP TRIGGER a_remove_once ON tasks');
});

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/contracts/events.ts';
import { applyEvents, emptyRun } from '../../src/dashboard/runs/run-state.ts';
import type { RunControl } from '../../src/main/core.ts';
import { createResources } from '../../src/main/resources.ts';
import { openClientConnection } from '../../src/main/wiring/client-connection.ts';
import { openRunControl } from '../../src/main/wiring/index.ts';
import { createFirePorts } from '../../src/main/wiring/runs/index.ts';
import { inTransaction, openDatabase } from '../../src/store/database/database.ts';
import { epochStore, noteRestore } from '../../src/store/runs/epoch.ts';
import { serve } from '../../src/temporal/activities/fire.ts';
import { engineMark } from '../../src/temporal/client/engine-mark.ts';
import { prepareEngine } from '../../src/temporal/worker/housekeeping.ts';
import type { StreamedEvent } from '../support/client.ts';
import { limitedRole } from '../support/database/limited-role.ts';
import { asOperator } from '../support/database/operator.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { perdura, startApiProcess, startWorkerProcess } from '../support/machine/processes.ts';
import { type Answer, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

/** Nothing runs by itself here, so nothing looks before a test does. */
let here: TestInstallation;
const lines: string[] = [];
const resources = createResources((error) => console.error(error));
const homes: string[] = [];

const newHome = async () => {
  const home = await mkdtemp(join(tmpdir(), 'perdura-epoch-'));
  homes.push(home);
  return home;
};
const unusedQueue = () => `none-${randomBytes(6).toString('hex')}`;

const begin = async (worker: boolean) => {
  here = resources.hold(
    await startTestInstallation({ worker, env: { PERDURA_HOME: await newHome() }, log: (line) => lines.push(line) }),
    (it) => it.stop(),
  );
  here.model.always(says('Done.'));
};
afterAll(async () => {
  await resources.close();
  for (const home of homes) await rm(home, { recursive: true, force: true });
});

const rowsOf = async (text: string, values: unknown[] = []) => (await here.core.database.pool.query(text, values)).rows;
const epoch = async () => (await here.core.store.epoch.read()).epoch;
const stream = (workflow_id: string, task_id?: string) =>
  `/api/workflows/${workflow_id}/stream${task_id ? `?task_id=${task_id}` : ''}`;
const numbers = (events: StreamedEvent[]) => events.map(({ id }) => id);
const isReset = ({ type, data }: StreamedEvent) => type === 'log' && data.event === 'stream_reset';
const after_ = (id: number) => ({ 'last-event-id': String(id) });

/** A completed run, and its events. */
async function ran(workflow_id: string) {
  const task_id = await here.prompt(workflow_id);
  return { task_id, events: await here.alice.events(stream(workflow_id, task_id)) };
}

/** The rows of every table, as a backup of the database holds them. */
type Backup = { table: string; columns: string; rows: string }[];

const TABLES = `SELECT table_name AS table, string_agg(quote_ident(column_name), ', ') AS columns FROM information_schema.columns
  WHERE table_schema = 'public' AND is_generated = 'NEVER' AND table_name <> '_prisma_migrations' GROUP BY 1`;

const backup = async (): Promise<Backup> =>
  Promise.all(
    (await rowsOf(TABLES)).map(async ({ table, columns }) => {
      const [{ rows }] = await rowsOf(`SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]')::text AS rows FROM ${table} t`);
      return { table, columns, rows };
    }),
  );

/** Sets the whole database back. */
const restore = (saved: Backup): Promise<void> =>
  inTransaction(here.core.database.pool, async (on) => {
    // Without the checks of foreign keys, as a restore has them last.
    await on.query({ text: 'SET LOCAL session_replication_role = replica' });
    for (const { table, columns, rows } of saved) {
      await on.query({ text: `DELETE FROM ${table}` });
      const text = `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM jsonb_populate_recordset(NULL::${table}, $1)`;
      await on.query({ text, values: [rows] });
    }
  });

/** Another process of the installation: one that has not looked yet, with another home or task queue if given. */
const anotherProcess = (env: { PERDURA_HOME?: string; TEMPORAL_TASK_QUEUE?: string } = {}): RunControl => {
  const { setting } = here;
  const own = { ...setting, config: { ...setting.config, ...env } };
  return openRunControl({ ...here.core, setting: own }, openClientConnection(own, resources), false);
};
/** Its types need those of a browser. */
const dashboardStream = new URL('../../src/dashboard/api/stream.ts', import.meta.url).href;

describe('a record that was set back', () => {
  beforeAll(async () => {
    await begin(false);
    const { config } = here.setting;
    await prepareEngine({
      client: here.driver.client,
      task_queue: config.TEMPORAL_TASK_QUEUE,
      every_seconds: 3_600,
      retention_days: 1,
    });
  });

  it.each([
    ['engine', async () => anotherProcess({ PERDURA_HOME: await newHome() })],
    ['home', async () => anotherProcess({ TEMPORAL_TASK_QUEUE: unusedQueue() })],
    [
      'running process',
      async () => {
        const looked = anotherProcess({ PERDURA_HOME: await newHome(), TEMPORAL_TASK_QUEUE: unusedQueue() });
        return { ...looked, ...(await looked.epoch.beat(0).then(() => ({}))) };
      },
    ],
  ])('is noticed by a process that knows only its %s', async (place, process) => {
    const before = await epoch();
    const saved = await backup();
    await here.driver.epoch.beat(0);
    const looking = await process();
    await restore(saved);
    lines.length = 0;
    expect(await looking.epoch.look()).toMatchObject({ epoch: before + 1, tasks: 0 });
    expect(lines).toEqual([expect.stringContaining(`older than what its ${place} has seen: epoch ${before + 1} begins`)]);
    // Once: neither this process nor another one begins a further epoch.
    for (const one of [looking, here.driver, anotherProcess()]) expect(await one.epoch.look()).toBeNull();
    expect(await epoch()).toBe(before + 1);
  });

  it('is noticed by one of several processes that look at once', async () => {
    const before = await epoch();
    const saved = await backup();
    await here.driver.epoch.beat(0);
    await restore(saved);
    const mark = { ...(await here.core.store.epoch.read()), beat: 1_000_000 };
    const noted = await Promise.all([1, 2, 3].map(() => noteRestore(here.core.database.pool, mark)));
    expect(noted.filter((found) => found !== null)).toHaveLength(1);
    for (const _ of [1, 2, 3]) expect(await anotherProcess().epoch.look()).toBeNull();
    expect(await epoch()).toBe(before + 1);
  });

  it('is noticed from an epoch that it does not know', async () => {
    const saved = await backup();
    const before = await epoch();
    await noteRestore(here.core.database.pool);
    await here.driver.epoch.beat(0);
    await restore(saved);
    expect(await anotherProcess().epoch.look()).toMatchObject({ epoch: before + 2 });
  });

  it('can be declared by a command, is shown by doctor, and noticed by a server and a worker that start', {
    timeout: 120_000,
  }, async () => {
    const { config, database_url, temporal_address, encryption_keys } = here.setting;
    const env = {
      DATABASE_URL: database_url,
      TEMPORAL_ADDRESS: temporal_address,
      TEMPORAL_TASK_QUEUE: config.TEMPORAL_TASK_QUEUE,
      ENCRYPTION_KEYS: encryption_keys,
      PERDURA_HOME: await newHome(),
      IDENTITY_PROVIDERS: 'local',
    };
    const before = await epoch();
    const command = perdura('restored', env);
    await command.ended;
    expect(command.output()).toBe(
      `Restored: epoch ${before + 1} begins. 0 unfinished tasks ask before they write, and streams send their runs again\n`,
    );
    const doctor = async () => {
      const child = perdura('doctor', env);
      await child.ended;
      return /^(\w+ +epoch: .*)$/m.exec(child.output())?.[1];
    };
    expect(await doctor()).toMatch(
      new RegExp(`^ok +epoch: ${before + 1}, restored at 20.*; 0 tasks from before have not ended$`),
    );

    const alone = { ...here.setting, config: { ...config, TEMPORAL_TASK_QUEUE: unusedQueue() } };
    const worker = await startWorkerProcess(alone);
    expect(worker.output()).not.toContain('begins');
    const saved = await backup();
    await here.driver.epoch.beat(0);
    await anotherProcess({ TEMPORAL_TASK_QUEUE: alone.config.TEMPORAL_TASK_QUEUE }).epoch.beat(0);
    await worker.end('SIGTERM');
    await restore(saved);
    const { api } = await startApiProcess(alone);
    expect(api.output()).toContain(`epoch ${before + 2} begins`);
    await api.end('SIGTERM');
    await restore(saved);
    const again = await startWorkerProcess(alone);
    expect(again.output()).toContain(`epoch ${before + 3} begins`);
    await again.end('SIGTERM');
  });

  describe('on a server', () => {
    const mark = () => engineMark(here.driver.client, here.setting.config.TEMPORAL_TASK_QUEUE);
    const noteServer = (server: object) =>
      rowsOf(
        `UPDATE installation_facts SET value = (value::jsonb || jsonb_build_object('server', $1::jsonb))::text WHERE name = 'epoch'`,
        [JSON.stringify(server)],
      );

    it('whose log is shorter than before is noticed, once', async () => {
      await here.driver.epoch.beat(0);
      const before = await epoch();
      const { log, ...recorded } = (await mark().read())!;
      await mark().write({ ...recorded, log: { ...log!, written: log!.written + 1e12 } });
      const [one, other] = [anotherProcess(), anotherProcess()];
      lines.length = 0;
      const noted = await Promise.all([one.epoch.look(), other.epoch.look()]);
      expect(noted.filter(Boolean)).toMatchObject([{ epoch: before + 1 }]);
      expect(lines).toEqual([expect.stringContaining(`older than what its engine has seen: epoch ${before + 1} begins`)]);
      for (const process of [one, other, anotherProcess(), here.driver]) expect(await process.epoch.look()).toBeNull();
      expect(await epoch()).toBe(before + 1);
    });

    it.each([
      ['that was promoted', { timeline: 0 }, 'from timeline 0 to 1, as after a failover'],
      ['of another cluster', { cluster: 'another' }, 'on another server than before'],
    ])('%s is noticed by one process, is shown by its comparison, and never moved by a beat', async (_, change, why) => {
      await here.driver.epoch.beat(0);
      const { log } = (await mark().read())!;
      const before = await epoch();
      await noteServer({ cluster: log!.cluster, timeline: log!.timeline, ...change });
      await here.core.store.epoch.advance(0, { log: log! });
      expect((await here.driver.epoch.compare()).why).toContain(why);
      lines.length = 0;
      const processes = [here.driver, anotherProcess(), anotherProcess({ PERDURA_HOME: await newHome() })];
      const noted = await Promise.all(processes.map((process) => process.epoch.look()));
      expect(noted.filter(Boolean)).toMatchObject([{ epoch: before + 1 }]);
      expect(lines).toEqual([expect.stringContaining(why)]);
      for (const process of [...processes, anotherProcess()]) expect(await process.epoch.look()).toBeNull();
      expect((await here.driver.epoch.compare()).why).toBeNull();
    });

    it('that is the same continues in its epoch, also for an account without rights, and for one that may not ask', async () => {
      await here.driver.epoch.beat(0);
      const before = await epoch();
      const role = await limitedRole(here.setting.database_url);
      const database = openDatabase({ url: role.url });
      const store = epochStore(database.pool);
      expect(await store.read()).toMatchObject({ epoch: before, log: { timeline: 1, written: expect.any(Number) } });
      await asOperator(here.setting.database_url, (on) => on.query('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC'));
      expect(await store.read()).not.toHaveProperty('log');
      await asOperator(here.setting.database_url, (on) => on.query('GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC'));
      await database.close();
      await role.drop();
      expect(await anotherProcess().epoch.look()).toBeNull();
      expect(await epoch()).toBe(before);
    });
  });

  it('is not seen in an engine or a home that is older, empty, or of another installation', async () => {
    const before = await epoch();
    const { installation } = await here.core.store.epoch.read();
    const mark = engineMark(here.driver.client, here.setting.config.TEMPORAL_TASK_QUEUE);
    for (const older of [
      { installation, epoch: before, beat: 0 },
      { installation, epoch: before - 1, beat: 1_000_000 },
      { installation: 'another', epoch: 1_000, beat: 1 },
    ]) {
      await mark.write(older);
      expect(await mark.read()).toEqual(older);
      expect(await anotherProcess({ PERDURA_HOME: await newHome() }).epoch.look()).toBeNull();
    }
    await here.driver.epoch.beat(0);
    expect(await mark.read()).toMatchObject({ installation, epoch: before });
    expect(await epoch()).toBe(before);
  });
});

describe('a restore', () => {
  beforeAll(() => begin(true));
  afterEach(() => here.model.always(says('Done.')));

  it('marks the tasks that had not ended, and those that a schedule fires for a time before', async () => {
    const workflow_id = await here.workflow();
    const { task_id: ended } = await ran(workflow_id);
    here.model.always(hangs('Half'));
    const running = await here.prompt(workflow_id);
    const waiting = await here.prompt(workflow_id);
    const overdue = new Date();
    expect(await noteRestore(here.core.database.pool)).toMatchObject({ tasks: 2 });
    const marked = async (ids: string[]) =>
      (await rowsOf('SELECT id FROM tasks WHERE restored_at IS NOT NULL AND id = ANY($1) ORDER BY id', [ids])).map(
        ({ id }) => id,
      );
    expect(await marked([ended, running, waiting])).toEqual([running, waiting]);

    const hourly = { name: 'h', prompt: 'p', interval_value: 1, interval_unit: 'hours', overlap_policy: 'enqueue', workflow_id };
    const { id } = await here.alice.ok(here.alice.post('/api/scheduled-agents', hourly), 201);
    const ports = createFirePorts(here.core, here.driver);
    const row = (await here.core.store.scheduledAgents.find(id))!;
    for (const due_at of [overdue, new Date()]) await serve(ports, row, { due_at, outcome: 'started' });
    const fired = (await rowsOf('SELECT task_id FROM schedule_fires WHERE scheduled_agent_id = $1 ORDER BY due_at', [id])).map(
      ({ task_id }) => task_id,
    );
    expect(fired).toEqual([expect.any(String), expect.any(String)]);
    expect(await marked(fired)).toEqual([fired[0]]);
    const prompted = await here.prompt(workflow_id);
    expect(await marked([prompted])).toEqual([]);
    for (const task_id of [running, waiting, ...fired, prompted]) await here.alice.post(`/api/tasks/${task_id}/stop`);
    for (const task_id of [running, waiting, ...fired, prompted]) await here.ended(task_id);
  });
});

describe('a reader from before a restore', () => {
  beforeAll(() => begin(true));

  it('gets a reset and the whole run again, from every number that is not on record, and none from any other', async () => {
    const workflow_id = await here.workflow();
    const one = await ran(workflow_id);
    const two = await ran(workflow_id);
    await here.driver.epoch.beat(0);
    const saved = await backup();
    await here.driver.epoch.beat(0);
    const lost = await ran(workflow_id);
    await restore(saved);
    await here.driver.epoch.look();
    const end = two.events.at(-1)!.id;
    const three = await ran(workflow_id);
    const last = numbers(three.events).at(-1)!;
    expect(three.events[0]!.id).toBeGreaterThan(1_000_000);
    expect(numbers(three.events)).toEqual(three.events.map((_, index) => three.events[0]!.id + index));

    const everything = (path: string, id: number) =>
      here.alice.events(path, { headers: after_(id), enough: (event) => event.id === last });
    const begin = two.events[0]!.id - 1;
    const again = [begin, ...numbers(two.events), ...numbers(three.events)];
    for (const id of [end + 1, ...numbers(lost.events), 900_000]) {
      const events = await everything(stream(workflow_id), id);
      expect(events.map(isReset)).toEqual(events.map((_, index) => index === 0));
      expect(numbers(events)).toEqual(again);
    }
    for (const id of [1, begin, end]) {
      const events = await everything(stream(workflow_id), id);
      expect(events.filter(isReset)).toEqual([]);
      expect(numbers(events)).toEqual(numbers([...one.events, ...two.events, ...three.events]).filter((seq) => seq > id));
    }
    // A new reader begins with the last run.
    expect(numbers(await here.alice.events(stream(workflow_id), { enough: ({ id }) => id === last }))).toEqual(
      numbers(three.events),
    );
    // A reader of one run gets that run, and its end.
    for (const { task_id, events } of [one, two, three])
      expect(numbers(await here.alice.events(stream(workflow_id, task_id), { headers: after_(end + 1) }))).toEqual([
        0,
        ...numbers(events),
      ]);
    await expect(here.alice.events(stream(workflow_id, three.task_id), { headers: after_(last) })).rejects.toThrow(
      'answered 204',
    );
    expect((await here.alice.get(stream(workflow_id, lost.task_id))).status).toBe(404);
  });

  it('gets no reset without a number, though its run began between the last beat and the restore', async () => {
    const workflow_id = await here.workflow();
    await here.driver.epoch.beat(0);
    await ran(workflow_id);
    const { events } = await ran(workflow_id);
    await noteRestore(here.core.database.pool);
    const last = numbers(events).at(-1);
    const got = await here.alice.events(stream(workflow_id), { enough: ({ id }) => id === last });
    expect(got.filter(isReset)).toEqual([]);
  });

  it('gets a reset for a number of the future also if nothing was restored', async () => {
    const workflow_id = await here.workflow();
    const { task_id, events } = await ran(workflow_id);
    for (const id of [events.at(-1)!.id + 1, 2_147_483_648, 999_999_999_999_999]) {
      const got = await here.alice.events(stream(workflow_id, task_id), { headers: after_(id) });
      expect(isReset(got[0]!)).toBe(true);
      expect(got.slice(1)).toEqual(events);
    }
  });

  it('that stays connected drops its text and has the run as it is on record, in the dashboard', async () => {
    const workflow_id = await here.workflow();
    here.model.script(says('One two three four five six.', { pause_ms: 300 }));
    const task_id = await here.prompt(workflow_id);
    const gone = new AbortController();
    let run = emptyRun;
    const seen: RunEvent[] = [];
    const send = (path: string, { headers, signal }: RequestInit) => {
      const authorized = new Headers(headers);
      authorized.set('authorization', `Bearer ${ALICE}`);
      return fetch(`${here.url}${path}`, { headers: authorized, signal: signal ?? null });
    };
    const { followRun } = await import(dashboardStream);
    const following = followRun(
      { send },
      {
        workflow_id,
        task_id,
        signal: gone.signal,
        onConnection() {},
        onEvents(events: RunEvent[]) {
          seen.push(...events);
          run = applyEvents(run, events);
        },
      },
    );
    await until('some text arrived', async () => run.partial.includes('three'));
    const restored = noteRestore(here.core.database.pool);
    await following;
    expect(await restored).toMatchObject({ tasks: 1 });
    expect(seen.filter(({ type, data }) => type === 'log' && data.event === 'stream_reset')).toHaveLength(1);
    expect(run.blocks.filter((block) => block.kind === 'text').map(({ text }) => text)).toEqual(['One two three four five six.']);
    expect(run).toMatchObject({ status: 'completed', partial: '' });
    expect(run.logs.filter(({ event }) => event === 'run_started')).toHaveLength(1);
  });

  it('at /v1, who cannot drop text, gets each text once', async () => {
    const workflow_id = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
    here.model.script(saysAndAsks('First.', 'manage_todo_list'), says('Seven eight nine ten.', { pause_ms: 300 }));
    const answer = await fetch(`${here.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ALICE}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: workflow_id, messages: [{ role: 'user', content: 'x' }], stream: true }),
    });
    let restored: Promise<unknown> | null = null;
    let raw = '';
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      raw += chunk;
      if (raw.includes('eight')) restored ??= noteRestore(here.core.database.pool);
    }
    expect(await restored).toMatchObject({ tasks: 1 });
    const parts = [...raw.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json!).choices[0]?.delta?.content ?? '');
    expect(parts.join('')).toBe('First.\n\nSeven eight nine ten.');
  });
});

/** A text and a tool call in one answer. */
const saysAndAsks =
  (content: string, name: string): Answer =>
  (response) => {
    const write = (delta: object, finish_reason: string | null = null) =>
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    write({ content });
    const call = { name, arguments: JSON.stringify({ todoList: [] }) };
    write({ tool_calls: [{ index: 0, id: 'c', type: 'function', function: call }] });
    write({}, 'tool_calls');
    response.end('data: [DONE]\n\n');
  };

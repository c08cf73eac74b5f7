import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCallGap, findStepGap } from '../../src/domain/continuity.ts';
import { asked, providerDestination } from '../../src/domain/destinations.ts';
import { type CallDecision, type CallStatus, decideMove } from '../../src/domain/effects.ts';
import { createTaskEvents, DEFAULT_MODEL } from '../../src/domain/events.ts';
import type { OpenRun, StepClaim } from '../../src/store/runs/runs.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

/** Opening a call or a step also begins it if the rules of the domain leave nothing to decide. The statements may never begin more. */
let here: TestInstallation;
let workflow_id: string;
let template: string;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
  workflow_id = await here.workflow();
  template = await here.prompt(workflow_id);
});
afterAll(() => here.stop());

const at = '2026-01-01T00:00:00.000Z';
const sql = (text: string, ...values: unknown[]) => here.core.database.pool.query(text, values);
const eventsFrom = async (task_id: string) =>
  (await sql('SELECT seq, type, data FROM events WHERE task_id = $1 ORDER BY seq', task_id)).rows;

/** Every combination of one value for each key. */
function combinations<T extends Record<string, readonly unknown[]>>(values: T): { [K in keyof T]: T[K][number] }[] {
  return Object.entries(values).reduce<Record<string, unknown>[]>(
    (all, [key, options]) => all.flatMap((one) => options.map((option) => ({ ...one, [key]: option }))),
    [{}],
  ) as { [K in keyof T]: T[K][number] }[];
}

/** A task in the state that a row of a table names. */
async function aTask({ status, halted, restored = false, fork = null }: TaskState): Promise<string> {
  const task_id = uuid();
  await sql(
    `INSERT INTO tasks (id, workflow_id, owner, owner_login, definition_hash, agent_id, agent_name, prompt, started_at,
        status, halt_requested, restored_at, fork_step, fork_effects)
      SELECT $2, workflow_id, owner, owner_login, definition_hash, agent_id, agent_name, prompt, now(),
        $3, $4, CASE WHEN $5 THEN now() END, CASE WHEN $6::text IS NOT NULL THEN 1 END, $6 FROM tasks WHERE id = $1`,
    ...[template, task_id, status, halted, restored, fork],
  );
  return task_id;
}

interface TaskState {
  status: string;
  halted: boolean;
  restored?: boolean;
  fork?: string | null;
}

const LIVE = ['pending', 'running', 'waiting'];
const TASK_STATUSES = [...LIVE, 'completed', 'halted'] as const;

describe('a call that is opened', () => {
  const CALLS = combinations({
    status: [
      'planned',
      'started',
      'done',
      'denied',
      'waiting_approval',
      'waiting_reconciliation',
      'waiting_answer',
    ] as CallStatus[],
    attempts: [0, 1],
    approval: [false, true],
    decision: [null, { decision: 'approve' }] as (CallDecision | null)[],
  });
  const TASKS = combinations({
    status: TASK_STATUSES,
    halted: [false, true],
    restored: [false, true],
    fork: [null, 'live'],
  });

  /** Of one task, a call in each of the states: their ids are their places in the table. */
  async function withCalls(task_id: string): Promise<void> {
    await sql(
      `INSERT INTO tool_calls (task_id, call_id, step, position, name, arguments, effect, status, attempts, approval, decision)
        SELECT $1, c.id, 1, c.place, 'pay', '{"n": 1}', 'write', c.status, c.attempts, c.approval, c.decision
        FROM jsonb_to_recordset($2) AS c (id text, place int, status text, attempts int, approval boolean, decision jsonb)`,
      ...[task_id, JSON.stringify(CALLS.map((call, place) => ({ ...call, id: `1-${place}`, place })))],
    );
  }

  it('is started in the same statement only where the rules run it without asking, and otherwise left as it is', async () => {
    const { ledger } = here.core.store;
    const begun: [object, object][] = [];
    for (const task of TASKS) {
      const task_id = await aTask(task);
      await withCalls(task_id);
      for (const [place, state] of CALLS.entries()) {
        const { call, started } = await ledger.openAndStart(task_id, `1-${place}`, at);
        if (!started) expect(call, JSON.stringify({ task, state })).toEqual(await ledger.open(task_id, `1-${place}`));
        if (started) {
          begun.push([task, state]);
          expect(LIVE).toContain(task.status);
          expect({ halted: task.halted, fork: task.fork, missing: findCallGap(`1-${place}`, call!) }).toEqual({
            ...{ halted: false, fork: null, missing: null },
          });
          expect(decideMove({ ...state, effect: 'write', restored: task.restored })).toBe('run');
          expect(call).toEqual(await ledger.open(task_id, `1-${place}`));
        }
      }
      const { rows } = await sql(
        'SELECT status, attempts, approval, decision FROM tool_calls WHERE task_id = $1 ORDER BY position',
        task_id,
      );
      const expected = CALLS.map((state) =>
        begun.some((pair) => pair[0] === task && pair[1] === state) ? { ...state, status: 'started', attempts: 1 } : state,
      );
      expect(rows).toEqual(expected);
      expect(await eventsFrom(task_id)).toHaveLength(begun.filter(([of]) => of === task).length);
    }
    const plain = { status: 'planned', attempts: 0, approval: false, decision: null };
    expect(begun).toEqual([[{ status: 'running', halted: false, restored: false, fork: null }, plain]]);
  });

  it('is published as every other attempt is, and is not started twice', async () => {
    const { ledger } = here.core.store;
    const task_id = await aTask({ status: 'running', halted: false });
    await withCalls(task_id);
    const both = await Promise.all([ledger.openAndStart(task_id, '1-0', at), ledger.openAndStart(task_id, '1-0', at)]);
    expect(both.map(({ started }) => started).sort()).toEqual([false, true]);
    const { type, data } = createTaskEvents(task_id, () => at).log('tool_call', 'pay', {
      ...{ call_id: '1-0', name: 'pay', arguments: '{"n": 1}' },
    });
    expect((await eventsFrom(task_id)).slice(-1)).toMatchObject([{ type, data }]);
    expect((await eventsFrom(task_id)).filter((event) => event.data.event === 'tool_call')).toHaveLength(1);
  });

  it('that its task does not have, or whose task there is not, is not started', async () => {
    const { ledger } = here.core.store;
    const task_id = await aTask({ status: 'running', halted: false });
    expect(await ledger.openAndStart(task_id, '9-9', at)).toMatchObject({ started: false, call: { known: false } });
    expect(await ledger.openAndStart(workflow_id, '1-0', at)).toEqual({ call: undefined, started: false });
  });
});

describe('a step that is opened', () => {
  const STATES = combinations({
    status: TASK_STATUSES,
    halted: [false, true],
    previous: ['recorded', 'open', 'missing'],
    call: [null, 'done', 'denied', 'planned', 'started'],
    own: [null, 'open', 'recorded'],
  });

  async function atStepTwo({ previous, call, own, ...task }: (typeof STATES)[number]): Promise<string> {
    const task_id = await aTask(task);
    const step = (number: number, ended: boolean) =>
      sql(
        'INSERT INTO task_steps (task_id, step, attempts, ended_at) VALUES ($1, $2, 1, CASE WHEN $3 THEN now() END)',
        ...[task_id, number, ended],
      );
    if (previous !== 'missing') await step(1, previous === 'recorded');
    if (own) await step(2, own === 'recorded');
    if (call)
      await sql(
        `INSERT INTO tool_calls (task_id, call_id, step, position, name, arguments, effect, status) VALUES ($1, '1-1', 1, 1, 't', '{}', 'read', $2)`,
        ...[task_id, call],
      );
    return task_id;
  }

  it('is begun in the same statement only where nothing has to be decided, and otherwise left as it is', async () => {
    const { runs } = here.core.store;
    const order = { step: 2, denied: [] };
    const begun: object[] = [];
    for (const state of STATES) {
      const task_id = await atStepTwo(state);
      const before = (await runs.open(task_id, 2)) as OpenRun;
      const written = (await eventsFrom(task_id)).length;
      const opened = await runs.openAndBegin(task_id, { step: 2, turns: 1, at, key: null });
      const after = (await runs.open(task_id, 2)) as OpenRun;
      expect({ ...opened.run, seconds: 0 }, JSON.stringify(state)).toEqual({ ...before, seconds: 0 });
      if (opened.begun === null) {
        expect({ ...after, seconds: 0 }, JSON.stringify(state)).toEqual({ ...before, seconds: 0 });
        expect(await eventsFrom(task_id)).toHaveLength(written);
        continue;
      }
      begun.push(state);
      const { status, halt_requested, recorded, attempts } = before;
      expect({ status, halt_requested, recorded, attempts, missing: findStepGap(order, before) }).toEqual({
        ...{ status: 'running', halt_requested: false, recorded: false, attempts: 0, missing: null },
      });
      expect(after).toMatchObject({ attempts: 1, turns: 1, status: 'running', recorded: false });
    }
    const plain = { status: 'running', halted: false, previous: 'recorded', own: null };
    expect(begun).toEqual([null, 'done', 'denied'].map((call) => ({ ...plain, call })));
  });

  const plain = { status: 'running', halted: false, previous: 'recorded', call: 'done', own: null } as const;

  /** Gives a task a definition in which one value is another. */
  async function redefined(task_id: string, path: string, value: unknown): Promise<void> {
    const hash = uuid();
    await sql(
      `INSERT INTO definitions (hash, body) SELECT $2, jsonb_set(d.body, $3::text[], $4)
        FROM definitions d JOIN tasks t ON t.definition_hash = d.hash WHERE t.id = $1`,
      ...[task_id, hash, path, JSON.stringify(value)],
    );
    await sql('UPDATE tasks SET definition_hash = $2 WHERE id = $1', task_id, hash);
  }

  it.each(['scripted', null])(
    'is published as every other attempt is, belongs to one of two, and is fenced like any: %s',
    async (model) => {
      const { runs } = here.core.store;
      const task_id = await atStepTwo(plain);
      await redefined(task_id, '{model}', model);
      const place = { step: 2, turns: 1, at, key: null };
      const both = await Promise.all([runs.openAndBegin(task_id, place), runs.openAndBegin(task_id, place)]);
      expect(both.filter(({ begun }) => begun === null)).toHaveLength(1);
      const { type, data } = createTaskEvents(task_id, () => at).log('model_call', model ?? DEFAULT_MODEL, { step: 2 });
      expect((await eventsFrom(task_id)).slice(-1)).toMatchObject([{ type, data }]);
      const { run, begun } = both.find((opened) => opened.begun !== null) as { run: OpenRun; begun: StepClaim };
      const after = begun.last;
      const more = { step: 2, after, event: createTaskEvents(task_id, () => at).delta('a') };
      expect(await runs.publishText(run, more)).toBe(after + 1);
      const again = (await runs.open(task_id, 2)) as OpenRun;
      expect(await runs.begin(again, { step: 2, turns: 1, denied: [], messages: [], events: [], key: null })).not.toBeNull();
      expect(await runs.publishText(run, more)).toBeNull();
    },
  );

  describe('uses the key of its provider', () => {
    const owner = 'local:alice';
    const provider = {
      ...{ id: uuid(), name: 'p', provider_type: 'openai', base_url: 'https://one.example', auth_type: 'bearer' },
      ...{ azure_api_version: null, azure_deployment: null },
    };
    const request = (name: string, task_id: string) => ({
      ...{ name, principal: owner, destination: providerDestination(provider), task_id },
    });
    const usesOf = async (task_id: string) =>
      (
        await sql(
          `SELECT token_name, principal, purpose, granted, resource_kind, resource_id, resource_name, destination_label
            FROM token_uses WHERE task_id = $1`,
          task_id,
        )
      ).rows;
    const use = {
      ...{ token_name: 'key', principal: owner, purpose: 'provider p', granted: true, resource_kind: 'provider' },
      ...{ resource_id: provider.id, resource_name: 'p', destination_label: 'one.example' },
    };
    beforeAll(async () => {
      const { tokens, grants } = here.core.store;
      await tokens.create({ name: 'key', value: 'secret' }, owner);
      await tokens.create({ name: 'other', value: 'secret too' }, owner);
      await grants.renew(
        owner,
        { kind: 'provider', id: provider.id },
        asked.provider({ ...provider, api_key_token_name: 'key' }),
      );
    });

    it.each([
      ['key', /^secret$/, true],
      ['other', /is not granted to the provider p as it is now/, false],
      ['none', /There is no stored token named none/, false],
    ])('in the statement that begins it, as if it was opened by itself: %s', async (name, outcome, granted) => {
      const { runs, tokens } = here.core.store;
      const later = await atStepTwo(plain);
      const first = await aTask({ status: 'pending', halted: false });
      const run = (await runs.open(first, 1)) as OpenRun;
      const key = await tokens.factsOfUse(request(name, later));
      const begun = [
        (await runs.openAndBegin(later, { step: 2, turns: 1, at, key })).begun,
        await runs.begin(run, { step: 1, turns: 0, denied: [], messages: [], events: [], key }),
      ];
      const outcomeOf = (open: () => string | Promise<string>) =>
        new Promise<string>((resolve) => resolve(open())).catch(({ message }: Error) => message);
      const alone = await outcomeOf(() => tokens.open(request(name, template)));
      for (const step of begun) expect(await outcomeOf(() => tokens.opened(request(name, later), step?.key ?? null))).toBe(alone);
      expect(alone).toMatch(outcome);
      const uses = [...(await usesOf(later)), ...(await usesOf(first)), ...(await usesOf(template)).slice(-1)];
      expect(uses).toEqual(Array(3).fill({ ...use, token_name: name, granted }));
    });

    it('only if it is begun, and by one of two attempts', async () => {
      const { runs, tokens } = here.core.store;
      const task_id = await atStepTwo(plain);
      const place = { step: 2, turns: 1, at, key: await tokens.factsOfUse(request('key', task_id)) };
      const both = await Promise.all([runs.openAndBegin(task_id, place), runs.openAndBegin(task_id, place)]);
      expect(both.map(({ begun }) => begun?.key?.verdict).sort()).toEqual(['granted', undefined]);
      expect(await usesOf(task_id)).toEqual([use]);
      const halted = await atStepTwo({ ...plain, halted: true });
      expect(await runs.openAndBegin(halted, place)).toMatchObject({ begun: null });
      expect(await usesOf(halted)).toEqual([]);
      const again = (await runs.open(task_id, 2)) as OpenRun;
      const late = { step: 2, turns: 1, denied: [], messages: [], events: [], key: place.key };
      expect(await runs.begin({ ...again, attempts: 7 }, late)).toBeNull();
      expect(await usesOf(task_id)).toEqual([use]);
    });
  });

  it('of a provider with a rate is begun only when the rate allows it', async () => {
    const { runs } = here.core.store;
    const task_id = await atStepTwo(plain);
    await redefined(task_id, '{provider,requests_per_minute}', 9);
    expect(await runs.openAndBegin(task_id, { step: 2, turns: 1, at, key: null })).toMatchObject({
      begun: null,
      run: { attempts: 0 },
    });
  });

  it('the first of a run is begun by itself: it has a prompt and a context to write', async () => {
    const task_id = await aTask({ status: 'running', halted: false });
    const opened = await here.core.store.runs.openAndBegin(task_id, { step: 1, turns: 0, at, key: null });
    expect(opened).toMatchObject({ begun: null, run: { attempts: 0 } });
  });
});

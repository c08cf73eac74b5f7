import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OUTCOME_UNKNOWN } from '../../src/domain/transcript.ts';
import { createTaskEvents } from '../../src/events/task-events.ts';
import type { OpenRun } from '../../src/store/runs/runs.ts';
import type { OpenCall } from '../../src/store/runs/tool-ledger.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { until } from '../support/until.ts';

/** A worker that was considered lost may still run next to its successor. Its attempt is outdated, so its writes are refused. */
let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation({ worker: false });
});
afterAll(() => here.stop());

const step = 1;
const usage = { total_in: 1, total_out: 1, cache_read: 0, cache_write: 0, cost: 0.5, premium_requests: 0 };
const eventsFor = ({ task_id }: { task_id: string }) => [
  createTaskEvents(task_id, () => new Date().toISOString()).log('goal_reminder', 'tested'),
];
const message = (content: string) =>
  ({ step, position: 1, role: 'assistant', kind: 'reply', content, tool_calls: null, call_id: null, extra: null }) as never;
const planned = { call_id: '1-1', name: 'write', arguments: '{}', position: 0, effect: 'write', approval: false } as never;

const asked = { position: 0, model: null, provider: null };
const begin = (run: OpenRun) =>
  here.core.store.runs.begin(run, {
    step,
    turns: 0,
    denied: [],
    fallback: null,
    asked,
    messages: [],
    taken: [],
    events: eventsFor(run),
  });
const recordOf = (run: OpenRun, calls: never[] = []) => ({
  ...{ step, model: 'm', provider: null, fallback: 0, finish: 'stop', usage, messages: [message('It is done.')], calls },
  ...{ cursor: null, response: undefined, published: null, events: eventsFor(run) },
});

/** What each may write of a step that another attempt has begun since. */
const OF_A_STEP: Record<string, (run: OpenRun) => Promise<unknown>> = {
  begin,
  publishDeltas: (run) => here.core.store.runs.publishDeltas(run, { step, events: eventsFor(run) }),
  publishText: (run) => here.core.store.runs.publishText(run, { step, after: 0, event: eventsFor(run)[0]! }),
  record: (run) => here.core.store.runs.record(run, recordOf(run)),
  compact: (run) => here.core.store.runs.compact(run, { step, message: message('summary'), usage, events: eventsFor(run) }),
  wait: (run) => here.core.store.runs.wait(run, { step, events: eventsFor(run) }),
  noteError: (run) =>
    here.core.store.runs.noteError(run, { step, error: 'late', model: 'm', fallback: null, usage, events: eventsFor(run) }),
  noteHalted: (run) => here.core.store.runs.noteHalted(run, { step, model: 'm', usage, events: eventsFor(run) }),
};
/** What is sent again if the database does not answer: the first time may have been written. */
const REPEATED = ['record', 'compact', 'noteError'];
/** Of a run, whichever attempt it is; and what only reads. */
const OF_A_RUN = ['open', 'publish', 'freezeToolset', 'note', 'settle'];

const question = { id: 'q-1', server: 'asking', message: 'Which one?', fields: [], asked_at: new Date().toISOString() };
const ending = { content: 'x', failed: false, kind: 'result', stdout: null, stderr: null, duration_ms: 1, extra: null } as const;
const OF_A_CALL: Record<string, (call: OpenCall) => Promise<unknown>> = {
  start: (call) => here.core.store.ledger.start(call, eventsFor(call)),
  end: (call) => here.core.store.ledger.end(call, { ...ending, events: eventsFor(call) }),
  'end with a to-do list': (call) =>
    here.core.store.ledger.end(call, {
      ...ending,
      todos: [{ id: '1', title: 'late', status: 'done' }],
      events: eventsFor(call),
    }),
  answer: (call) =>
    here.core.store.ledger.answer(call, { content: 'x', failed: false, answered_by: 'stub', events: eventsFor(call) } as never),
  park: (call) => here.core.store.ledger.park(call, { status: 'waiting_reconciliation', events: eventsFor(call) }),
  ask: (call) => here.core.store.ledger.ask(call, { question: question as never, events: eventsFor(call) }),
  release: (call) => here.core.store.ledger.release(call, { reached: false, is_outage: false, events: eventsFor(call) }),
};
const OF_ITS_WORKSPACE: Record<string, (call: OpenCall) => Promise<unknown>> = {
  add: (call) => here.core.store.workspaceLayers.add(call, { chunks: ['chunk'], bytes: 1 }),
};
/** A statement that waits for a write and drops its answer. A halted attempt ends either way, so what it used may be refused. */
const IGNORED = /^ *await (?:written\(\(\) => )?ports\.(?:runs|ledger)\.(?!noteHalted)(\w+)\(/gm;
/** Of a call as it is, of its run, or of a person. */
const OF_ANY_CALL = ['open', 'resume', 'publish', 'decide', 'lastCalls', 'question', 'answerQuestion'];

/** A run whose first step was begun twice: by a worker that is taken for lost, and by its successor. */
async function twice() {
  const { runs } = here.core.store;
  const task_id = await here.prompt(await here.workflow());
  const opened = async () => (await runs.open(task_id, step)) as OpenRun;
  const stale = await opened();
  expect(await begin(stale)).toBeTruthy();
  const current = await opened();
  expect(await begin(current)).toBeTruthy();
  return { stale, current };
}

/** A call that was begun twice, in the same way. */
async function callTwice() {
  const { runs, ledger } = here.core.store;
  const { current } = await twice();
  expect(await runs.record(current, recordOf(current, [planned]))).toBe(true);
  const { task_id } = current;
  const stale = (await ledger.start((await ledger.open(task_id, '1-1'))!, eventsFor(current)))!;
  const later = (await ledger.start((await ledger.open(task_id, '1-1'))!, eventsFor(current)))!;
  expect([stale.attempts, later.attempts]).toEqual([1, 2]);
  return { stale, later };
}

/** Everything that is kept of a task. */
async function kept(task_id: string): Promise<string> {
  const { pool } = here.core.database;
  const ofTask = ['task_steps', 'task_messages', 'tool_calls', 'workspace_layers'].map((table) => `${table} WHERE task_id`);
  const tables = ['tasks WHERE id', ...ofTask];
  const found = await Promise.all(
    [...tables, 'events WHERE task_id'].map((from) => pool.query(`SELECT * FROM ${from} = $1`, [task_id])),
  );
  return JSON.stringify(found.map(({ rows }) => rows));
}

describe('an attempt that was taken for lost', () => {
  it('has every statement tried that is given an attempt', () => {
    const { runs, ledger, workspaceLayers } = here.core.store;
    expect(Object.keys(workspaceLayers).sort()).toEqual([...Object.keys(OF_ITS_WORKSPACE), 'find', 'first', 'forget'].sort());
    expect(Object.keys(runs).sort()).toEqual([...Object.keys(OF_A_STEP), ...OF_A_RUN].sort());
    const tried = Object.keys(OF_A_CALL).filter((name) => name !== 'end with a to-do list');
    expect(Object.keys(ledger).sort()).toEqual([...tried, ...OF_ANY_CALL, 'closeQuestion'].sort());
  });

  it.each(Object.entries(OF_A_STEP))('writes nothing of a step after its successor has begun: %s', async (_, write) => {
    const { stale, current } = await twice();
    const before = await kept(stale.task_id);
    expect(await write(stale)).toBeFalsy();
    expect(await kept(stale.task_id)).toBe(before);
    // The same of the successor is written, so it was the attempt that made the difference.
    const next = write === begin ? ((await here.core.store.runs.open(stale.task_id, step)) as OpenRun) : current;
    expect(await write(next)).toBeTruthy();
  });

  it.each(REPEATED)('writes once what is sent again because its answer was lost: %s', async (name) => {
    const { current } = await twice();
    const before = await kept(current.task_id);
    expect(await OF_A_STEP[name]!(current)).toBe(true);
    const written = await kept(current.task_id);
    expect(written).not.toBe(before);
    // A reply is read again instead: its step is recorded.
    expect(await OF_A_STEP[name]!(current)).toBe(name !== 'record');
    expect(await kept(current.task_id)).toBe(written);
  });

  it('counts a failure of the next attempt, and another summary of this one', async () => {
    const { current } = await twice();
    const { runs } = here.core.store;
    expect(await OF_A_STEP.noteError!(current)).toBe(true);
    const after = (await runs.open(current.task_id, step)) as OpenRun;
    expect(await begin(after)).toBeTruthy();
    expect(await OF_A_STEP.noteError!(after)).toBe(true);
    const summary = { ...(message('summary') as object), position: 7 } as never;
    expect(await OF_A_STEP.compact!(after)).toBe(true);
    expect(await runs.compact(after, { step, message: summary, usage, events: eventsFor(after) })).toBe(true);
    expect(await runs.open(current.task_id, step)).toMatchObject({ errors: 2, cost: 4 * usage.cost });
  });

  it.each(Object.entries({ ...OF_A_CALL, ...OF_ITS_WORKSPACE }))(
    'writes nothing of a call after its successor has begun: %s',
    async (_, write) => {
      const { stale, later } = await callTwice();
      const before = await kept(stale.task_id);
      expect(await write(stale)).toBeFalsy();
      expect(await kept(stale.task_id)).toBe(before);
      expect(await write(later)).toBeTruthy();
    },
  );

  it('of a brief call that was not recorded as started writes nothing after another has ended it', async () => {
    const { runs, ledger } = here.core.store;
    const { current } = await twice();
    expect(await runs.record(current, recordOf(current, [planned]))).toBe(true);
    const call = (await ledger.open(current.task_id, '1-1'))!;
    expect(call.status).toBe('planned');
    const end = () => ledger.end(call, { ...ending, events: eventsFor(call) });
    expect((await Promise.all([end(), end()])).sort()).toEqual([false, true]);
    expect(await ledger.open(current.task_id, '1-1')).toMatchObject({ status: 'done', attempts: 1 });
    expect(await ledger.start(call, eventsFor(call))).toBeNull();
  });

  it('does not close a question of its successor', async () => {
    const { ledger } = here.core.store;
    const { stale, later } = await callTwice();
    expect(await ledger.ask(later, { question: question as never, events: eventsFor(later) })).toBe(true);
    const before = await kept(stale.task_id);
    expect(await ledger.closeQuestion(stale, { answered: false, events: eventsFor(stale) })).toBe(false);
    expect(await kept(stale.task_id)).toBe(before);
    expect(await ledger.closeQuestion(later, { answered: false, events: eventsFor(later) })).toBe(true);
  });

  it('gives a workspace its first layer once, and only if it has none', async () => {
    const { workspaceLayers } = here.core.store;
    const { task_id } = (await twice()).current;
    const layer = { chunks: ['chunk'], bytes: 1 };
    const numbers = await Promise.all([1, 2, 3].map(() => workspaceLayers.first(task_id, layer)));
    expect(numbers.filter((number) => number !== null)).toHaveLength(1);
    expect(await workspaceLayers.find(task_id)).toHaveLength(1);
    const { later } = await callTwice();
    expect(await workspaceLayers.add(later, layer)).not.toBeNull();
    expect(await workspaceLayers.first(later.task_id, layer)).toBeNull();
  });

  it('writes nothing once its run has ended', async () => {
    const { runs, tasks, workspaceLayers } = here.core.store;
    const { current } = await twice();
    const { later } = await callTwice();
    for (const { task_id } of [current, later])
      await runs.settle(task_id, { status: 'halted', error: null, error_code: null, events: [] });
    const before = [await kept(current.task_id), await kept(later.task_id)];
    for (const [name, write] of Object.entries(OF_A_STEP)) if (write !== begin) expect(await write(current), name).toBeFalsy();
    for (const [name, write] of Object.entries({ ...OF_A_CALL, ...OF_ITS_WORKSPACE }))
      expect(await write(later), name).toBeFalsy();
    expect(await workspaceLayers.first(later.task_id, { chunks: [], bytes: 0 })).toBeNull();
    expect([await kept(current.task_id), await kept(later.task_id)]).toEqual(before);
    expect(await tasks.find(current.task_id)).toMatchObject({ status: 'halted' });
  });

  it('begins no step over a gap in the record, over a call without a result, or after a halt', async () => {
    const { runs, ledger } = here.core.store;
    const { pool } = here.core.database;
    const { current } = await twice();
    const { task_id } = current;
    const beginAt = async (step: number, denied: string[] = []) => {
      const run = (await runs.open(task_id, step))!;
      return runs.begin(run, { step, turns: 1, denied, fallback: null, asked, messages: [], taken: [], events: eventsFor(run) });
    };
    expect(await beginAt(2), 'the first step has not ended').toBeNull();
    expect(await runs.record(current, recordOf(current, [planned]))).toBe(true);
    expect(await beginAt(2), 'a call has no result').toBeNull();
    const call = (await ledger.start((await ledger.open(task_id, '1-1'))!, eventsFor(current)))!;
    expect(await beginAt(2), 'a call is in progress').toBeNull();
    await ledger.end(call, { ...ending, events: eventsFor(call) });
    expect(await beginAt(3), 'there is no second step').toBeNull();
    const readWorkflow = () => here.core.store.workflows.find(current.workflow_id);
    const before = await readWorkflow();
    await pool.query('UPDATE tasks SET halt_requested = true WHERE id = $1', [task_id]);
    expect(await beginAt(2), 'it is to be halted').toBeNull();
    expect(await readWorkflow(), 'its workflow shows no turn that has not begun').toEqual(before);
    await pool.query('UPDATE tasks SET halt_requested = false WHERE id = $1', [task_id]);
    expect(await beginAt(2)).not.toBeNull();
    expect(await readWorkflow()).toMatchObject({ current_turn: 1 });
  });

  it.each([
    ['a halt', 'UPDATE tasks SET halt_requested = true WHERE id = $1'],
    ['the end of the run', `UPDATE tasks SET status = 'halted', completed_at = now() WHERE id = $1`],
    ['the end of the step', 'UPDATE task_steps SET ended_at = now() WHERE task_id = $1'],
  ])('begins no step if it has waited for %s', async (_, change) => {
    const { pool } = here.core.database;
    const { task_id } = (await twice()).current;
    const run = (await here.core.store.runs.open(task_id, step)) as OpenRun;
    const other = await pool.connect();
    try {
      await other.query('BEGIN');
      await other.query(change, [task_id]);
      const begun = begin(run);
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await until('it waits', async () => (await pool.query(waiting)).rows.length > 0);
      await other.query('COMMIT');
      expect(await begun).toBeNull();
    } finally {
      other.release();
    }
  });

  it('may have run: a call that its successor could not make is not recorded as never made', async () => {
    const { runs, ledger } = here.core.store;
    const { later } = await callTwice();
    expect(await ledger.release(later, { reached: false, is_outage: false, events: eventsFor(later) })).toBe(true);
    await runs.settle(later.task_id, { status: 'halted', error: null, error_code: null, events: [] });
    expect(await kept(later.task_id)).toContain(OUTCOME_UNKNOWN);
  });

  it('decides nothing about a call of its successor, and nothing that is decided already', async () => {
    const { ledger } = here.core.store;
    const { stale, later } = await callTwice();
    const waiting = { ...later, status: 'waiting_reconciliation' } as OpenCall;
    expect(await ledger.park(later, { status: 'waiting_reconciliation', events: eventsFor(later) })).toBe(true);
    const decide = (attempts: number | null) =>
      ledger.decide(waiting, { decision: { decision: 'done' } as never, by: 'x', attempts, events: eventsFor(later) });
    expect(await decide(stale.attempts)).toBe(false);
    expect(await decide(later.attempts)).toBe(true);
    expect(await decide(null)).toBe(false);
  });

  it('is refused, and no activity takes a refused write for made', async () => {
    const ignored: string[] = [];
    const folder = join(import.meta.dirname, '../../src/temporal/activities');
    for await (const file of glob('**/*.ts', { cwd: folder }))
      for (const [, name] of (await readFile(join(folder, file), 'utf8')).matchAll(IGNORED))
        if (name! in OF_A_STEP || name! in OF_A_CALL) ignored.push(`${file}: ${name}`);
    expect(ignored).toEqual([]);
  });
});

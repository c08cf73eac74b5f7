import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunWait } from '../../src/domain/continuity.ts';
import type { UnfinishedTask } from '../../src/store/runs/tasks.ts';
import { ENGINE_FILE } from '../../src/temporal/names.ts';
import { createParkedRuns, missingWhileParked } from '../../src/temporal/repair/parked-runs.ts';
import { reconcileMcpState, reconcileSchedules } from '../../src/temporal/repair/reconcile-schedules.ts';
import { reconcile } from '../../src/temporal/repair/reconcile-tasks.ts';
import { measureSizes } from '../../src/temporal/repair/sizes.ts';

const TASK = {
  ...{ task_id: 'a', workflow_id: 'w', owner: 'ann', principal: 'p', trigger: 'api', agent: 'x', model: null, status: 'waiting' },
  ...{ on_busy: 'enqueue', turns: 2, workflow: 'flow', definition_hash: 'h', holder: 'a', decided: [], record_behind: null },
  ...{ behind_run_id: null, continuity: null, switched_off: false, superseded: false, steps: 1, open_calls: [] },
} as unknown as UnfinishedTask;
const LANE: RunWait = { for: 'lane' };
const CALL: RunWait = { for: 'call', call_id: '1-1', seen: 'begun' };
const BUDGET: RunWait = { for: 'budget', step: 4 };
const OPEN_CALL = { known: true, defined: true, status: 'started', attempts: 1 };
const OPEN_RUN = { defined: true, follows: true, unended: [] };

interface World {
  tasks?: Partial<UnfinishedTask>[];
  /** What the engine knows; by default each run is parked. */
  state?: 'open' | 'waiting' | 'closed' | 'unknown';
  waits?: RunWait[] | null;
  /** The task as it is read again; null: it has ended. */
  later?: Partial<UnfinishedTask> | null;
  call?: object | null;
  run?: object | null;
  place?: string;
  strays?: string[];
  terminates?: boolean;
}

/** Compares a record with an engine, both of which are objects. Returns what was done, and which signals were sent. */
async function compare({ tasks = [{}], state = 'waiting', waits = [LANE], later = {}, ...world }: World) {
  const sent: string[] = [];
  const send = (what: string) => async (task_id: string, more?: unknown) => {
    sent.push([what, task_id, ...(typeof more === 'string' ? [more] : [])].join(' '));
    return world.terminates ?? true;
  };
  const unfinished = tasks.map((task) => ({ ...TASK, ...task }));
  const engine = {
    execution: async () => ({ state, run_id: 'run', place: 'run/7' }),
    waits: async () => waits,
    findOwnEnd: async () => null,
    openRuns: async function* () {
      yield* world.strays ?? [];
    },
    ...Object.fromEntries(['proceed', 'decide', 'raise', 'halt', 'terminate', 'deliver'].map((name) => [name, send(name)])),
    restart: async ({ task_id }: { task_id: string }) => send('restart')(task_id),
  };
  const batches: number[] = [];
  const store = {
    tasks: {
      settleLanes: async () => {},
      listUnfinished: async () => unfinished,
      find: async () => later && { ...unfinished[0], ...later },
      findUnfinished: async () => later && { ...unfinished[0], ...later },
      listSettledCalls: async () => ['1-9'],
      async over(task_ids: string[]) {
        batches.push(task_ids.length);
        return task_ids;
      },
    },
    continuity: {
      done: async () => void sent.push('done'),
      park: async (_: unknown, { missing }: { missing: string }) => {
        sent.push(`park ${missing}`);
        return true;
      },
    },
    ledger: { open: async () => (world.call === undefined ? OPEN_CALL : world.call) },
    runs: { open: async () => (world.run === undefined ? OPEN_RUN : world.run) },
    webhooks: { pending: async () => [] },
    workflows: { removeUnused: async () => {} },
  };
  const settle = async () => ({ ended: null, next: null, webhook: null });
  const definition = async () => ({ settings: { max_turns: 5 } });
  const done = await reconcile({ store, engine, settle, definition, now: () => new Date(0) } as never);
  return { done, sent, batches };
}

describe('the reconciler', () => {
  it.each<[string, World, object, string[]]>([
    [
      'carries out a decision to resume, by a new execution',
      { tasks: [{ continuity: 'resume', behind_run_id: 'old' }] },
      { restarted: 1 },
      ['terminate a The run is resumed from its record by another execution', 'restart a', 'done'],
    ],
    [
      'counts no run that was failed as restarted',
      { tasks: [{ continuity: 'fail', record_behind: 'x' }] },
      { restarted: 0 },
      ['terminate a A person failed the run, because its record is behind'],
    ],
    [
      'leaves a run alone that a person has not decided about',
      { tasks: [{ record_behind: 'x' }], state: 'closed' },
      { lost: 0 },
      [],
    ],
    ['and one that the engine has lost', { tasks: [{ record_behind: 'x' }], state: 'unknown' }, { restarted: 0 }, []],
    ['lets a run in that has its lane', {}, {}, ['proceed a']],
    ['lets no run in that has not', { tasks: [{ holder: 'b' }] }, {}, []],
    ['lets no run in that waits for something else', { waits: [{ for: 'budget', step: 1 }] }, {}, []],
    ['wakes a run that continues', { tasks: [{ status: 'running' }] }, {}, ['proceed a', 'decide a 1-9', 'raise a']],
    ['wakes it without its lane', { tasks: [{ status: 'running', holder: 'b' }] }, {}, ['decide a 1-9', 'raise a']],
    ['wakes no run that waits by now', { tasks: [{ status: 'running' }], later: { status: 'waiting' } }, {}, []],
    ['wakes no run that is gone by now', { tasks: [{ status: 'running' }], later: null }, {}, []],
    [
      'parks a run whose call is not on record',
      { waits: [CALL], call: { ...OPEN_CALL, known: false } },
      { behind: 1 },
      ['park the call 1-1'],
    ],
  ])('%s', async (_, world, done, sent) => {
    const compared = await compare(world);
    expect(compared.done).toMatchObject(done);
    expect(compared.sent).toEqual(sent);
  });

  it('ends strays in batches, and counts those that were ended', async () => {
    const strays = Array.from({ length: 501 }, (_, at) => `s${at}`);
    const ended = await compare({ tasks: [], strays });
    expect([ended.batches, ended.done.strays]).toEqual([[500, 1], 501]);
    expect((await compare({ tasks: [], strays, terminates: false })).done.strays).toBe(0);
  });
});

describe('what a parked run waits for is missing', () => {
  const missing = (waits: RunWait[], { later = {}, call = OPEN_CALL, run = OPEN_RUN, place = 'p' }: World = {}) => {
    const store = {
      tasks: { findUnfinished: async () => later && { ...TASK, ...later } },
      ledger: { open: async () => call },
      runs: { open: async () => run },
    };
    const engine = { execution: async () => ({ state: 'waiting', run_id: 'r', place }) };
    return missingWhileParked({ store, engine } as never, TASK, { place: 'p', waits });
  };

  it.each<[string, RunWait[], World, string | null]>([
    ['never for its lane', [LANE], {}, null],
    ['if the call is not known', [CALL], { call: { ...OPEN_CALL, known: false } }, 'the call 1-1'],
    ['not if the call is as it was seen', [CALL], {}, null],
    ['not if the task has no such call', [CALL], { call: null }, null],
    ['if the step has not begun', [BUDGET], {}, 'the beginning of step 4'],
    ['if the second thing is missing', [CALL, BUDGET], {}, 'the beginning of step 4'],
    ['if the step before it is missing', [BUDGET], { run: { ...OPEN_RUN, follows: false } }, 'step 3'],
    ['not if the task is gone', [BUDGET], { run: null }, null],
    ['not if the run has moved meanwhile', [BUDGET], { place: 'q' }, null],
    ['not if the record has it by now', [LANE, BUDGET], { later: { steps: 4 } }, null],
    ['not if the task has ended', [BUDGET], { later: null }, null],
    ['not if it is parked already', [BUDGET], { later: { record_behind: 'x' } }, null],
    ['not if a person has decided', [BUDGET], { later: { continuity: 'resume' } }, null],
  ])('%s', async (_, waits, world, expected) => expect(await missing(waits, world)).toBe(expected));

  it('is asked no more after twenty runs without an answer, and from scratch after an answer', async () => {
    const parked = createParkedRuns();
    let asked = 0;
    const answers = (answered: (at: number) => boolean) => ({ waits: async () => (answered(asked++) ? [LANE] : null) });
    const askAll = async (engine: ReturnType<typeof answers>) => {
      asked = 0;
      parked.begin([]);
      for (let at = 0; at < 60; at += 1) await parked.findWaits(engine, `task ${at}`, 'p');
      return asked;
    };
    expect(await askAll(answers(() => false))).toBe(20);
    expect(await askAll(answers((at) => at === 10))).toBe(31);
  });
});

describe('a schedule', () => {
  /** Compares schedules; returns what was done, and the calls to the engine. */
  async function repair({ row, known, matches }: { row: object | undefined; known: boolean; matches: boolean[] }) {
    const calls: string[] = [];
    const store = {
      scheduledAgents: {
        pauseFailing: async () => [],
        // The list has it, although it may be gone when it is read again.
        all: async () => [{ id: 's' }],
        find: async () => row,
      },
    };
    const schedules = {
      overview: async () => new Map(known ? [['s', false]] : []),
      matches: async () => matches.shift() ?? true,
      isPausedByHand: async () => false,
      save: async () => void calls.push('save'),
      remove: async () => void calls.push('remove'),
    };
    const done = await reconcileSchedules(store as never, schedules as never);
    return { calls, saved: done.saved, removed: done.removed };
  }
  const ROW = { id: 's', enabled: true };

  it.each([
    ['that the engine does not have is made', { row: ROW, known: false, matches: [false] }, { calls: ['save'], saved: ['s'] }],
    ['that looks different only in a list is left alone', { row: ROW, known: true, matches: [true] }, { calls: [], saved: [] }],
    ['without a row is removed', { row: undefined, known: true, matches: [] }, { calls: ['remove'], removed: ['s'] }],
    ['that neither has any more is nothing', { row: undefined, known: false, matches: [] }, { calls: [], removed: [] }],
  ])('%s', async (_, world, expected) => expect(await repair(world)).toMatchObject(expected));
});

it('the state of an MCP server is removed if it was deleted, and not if it was restored', async () => {
  const removed: string[] = [];
  const store = {
    mcpServers: { filterKnown: async () => ['restored'] },
    audit: { filterDeleted: async () => ['deleted', 'restored'] },
  };
  const state = {
    listServers: async () => ['deleted', 'restored', 'foreign'],
    remove: async (id: string) => void removed.push(id),
  };
  await reconcileMcpState(store as never, state);
  expect(removed).toEqual(['deleted']);
});

describe('the sizes of an installation', () => {
  const measure = async (files: Record<string, number>, most_files?: number) => {
    const home = await mkdtemp(join(tmpdir(), 'sizes-'));
    await mkdir(join(home, dirname(ENGINE_FILE)));
    for (const [name, size] of Object.entries(files)) await writeFile(join(home, name), 'x'.repeat(size));
    try {
      return await measureSizes({ sizes: { database: async () => 7 } } as never, { PERDURA_HOME: home }, most_files);
    } finally {
      await rm(home, { recursive: true });
    }
  };

  it('have the engine with its journal, if there is one', async () => {
    const [file, journal] = [ENGINE_FILE, `${ENGINE_FILE}-wal`];
    expect((await measure({})).engine).toBeNull();
    const alone = await measure({ [file]: 100_000 });
    const both = await measure({ [file]: 100_000, [journal]: 50_000 });
    expect(alone.engine).toBeGreaterThanOrEqual(100_000);
    expect(both.engine! - alone.engine!).toBeGreaterThanOrEqual(50_000);
  });

  it('have no size of a home with too many files', async () => {
    const files = { a: 1, b: 1, c: 1 };
    expect((await measure(files, 2)).home).toBeNull();
    expect((await measure(files)).home).toBeGreaterThan(0);
  });
});

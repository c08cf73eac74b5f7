import { describe, expect, it } from 'vitest';
import { OutageError } from '../../src/domain/outages.ts';
import { textsToAdmit } from '../../src/temporal/start/attached-files.ts';
import { carryOut, parkWaiting } from '../../src/temporal/start/continuity.ts';
import { createDispatch } from '../../src/temporal/start/dispatch.ts';
import { startsInTurn } from '../../src/temporal/start/starts.ts';

const DEFINITION = {
  ...{ agent: { id: 'a', name: 'agent' }, workflow: { id: 'w', title: 'flow' }, model: 'm', provider: null },
  settings: { max_turns: 5 },
};
const OUTAGE = new OutageError({ code: 'database_unavailable', sentence: 'Postgres is gone' });

interface World {
  /** The task of the record; null: there is none. */
  task?: object | null;
  /** What a try to create the task does; by default it is created and has the lane. */
  create?: () => Promise<object | null>;
  /** The next task in the lane, once this one is gone. */
  next?: string | null;
  webhook?: string | null;
  /** True if the engine cannot start a run. */
  is_down?: boolean;
  /** True if the engine has a run of the task. */
  has_run?: boolean;
  workflow?: object | null;
  holder?: string;
  /** The budgets above the run. */
  caps?: object[];
}

/** A dispatch on a record and an engine that are objects, with the signals and writes that it makes. */
function world({ task = null, next = null, webhook = null, is_down = false, has_run = true, ...more }: World) {
  const done: string[] = [];
  const act =
    (what: string, result: unknown = has_run) =>
    async (subject: unknown) => {
      done.push(`${what} ${typeof subject === 'string' ? subject : JSON.stringify(subject)}`);
      return result;
    };
  const engine = {
    async start({ task_id }: { task_id: string }) {
      done.push(`start ${task_id}`);
      if (is_down) throw new Error('the engine is down');
      return true;
    },
    restart: async ({ task_id }: { task_id: string }) => void done.push(`restart ${task_id}`),
    ...Object.fromEntries(['proceed', 'halt', 'deliver', 'terminate'].map((what) => [what, act(what)])),
  };
  const store = {
    snapshot: async () => ({
      workflow: { owner: 'ann', status: 'active', on_busy: 'enqueue' },
      guardrails: [],
      caps: more.caps ?? [],
    }),
    definitions: { get: async () => DEFINITION },
    tasks: {
      create: more.create ?? (async ({ task_id }: { task_id: string }) => ({ task_id, created_at: 'now', holder: task_id })),
      discard: act('discard', next),
      find: async () => task,
      findUnfinished: async () => task,
      holder: async () => more.holder ?? 'other',
      noteHalt: act('noteHalt'),
    },
    workflows: { find: async () => more.workflow ?? null, create: act('create workflow') },
    continuity: { park: async () => has_run, done: act('done') },
  };
  const settle = async (task_id: string, end: { status: string; error_code: string | null; turns: number }) => {
    done.push(`settle ${task_id} ${end.status} ${end.error_code} ${end.turns}`);
    return { ended: null, next, webhook };
  };
  const ports = {
    ...{ store, engine, settle, steps_here: false, starts: startsInTurn(9), bus: { halt: () => {} } },
    admitTask: (_: string, write: (most: number) => unknown) => write(9),
    pinDefinition: () => DEFINITION,
    buildConfig: () => ({}),
    findRefusal: async () => null,
  };
  const dispatch = createDispatch(ports as never);
  const order = { task_id: 'a', workflow_id: 'w', owner: 'ann', owner_login: 'ann', prompt: 'Go.', trigger: 'api' };
  const continuity = { store, engine, settle, definition: async () => DEFINITION } as never;
  return { dispatch, done, order: { ...order, access_token: null, evaluation_id: 'e' } as never, continuity };
}

const waitsForLane = async () => ({ task_id: 'a', created_at: 'now', holder: 'other' });

describe('a prompt', () => {
  it('that the engine cannot start leaves nothing behind, and the next task proceeds', async () => {
    const { dispatch, done, order } = world({ is_down: true, next: 'b' });
    await expect(dispatch.prompt(order)).rejects.toThrow('the engine is down');
    expect(done).toEqual(['start a', 'discard a', 'proceed b']);
  });

  it('is refused if a budget above it is used up, unless it repeats one that was accepted', async () => {
    const ends_at = '2031-05-01T00:00:00.000Z';
    const caps = [
      { name: 'Team', unit: 'tokens', limit: 7, spent: 11, ends_at, on_exhausted: 'refuse', warn_at: [], is_short: false },
    ];
    await expect(world({ caps }).dispatch.prompt(world({}).order)).rejects.toThrow(/^The budget Team of 7 tokens is used up/);
    const { dispatch, done, order } = world({ caps, task: { status: 'pending' }, holder: 'a' });
    expect(await dispatch.prompt(order)).toMatchObject({ task_id: 'a' });
    expect(done).toEqual(['start a']);
  });

  it('that the engine has started, although its answer was lost, is accepted', async () => {
    const { dispatch, done, order } = world({ is_down: true, task: { status: 'running' } });
    expect(await dispatch.prompt(order)).toMatchObject({ task_id: 'a', status: 'pending' });
    expect(done).toEqual(['start a', 'discard a']);
  });

  it('that may have been written when the database was lost is removed', async () => {
    const { dispatch, done, order } = world({ create: () => Promise.reject(OUTAGE) });
    await expect(dispatch.prompt(order)).rejects.toBe(OUTAGE);
    expect(done).toEqual(['discard a']);
  });

  it('that the record refuses for another reason is not removed', async () => {
    const { dispatch, done, order } = world({ create: () => Promise.reject(new Error('odd')) });
    await expect(dispatch.prompt(order)).rejects.toThrow('odd');
    expect(done).toEqual([]);
  });

  it.each<[string, World, string[]]>([
    ['waits, if another has its lane', { task: { status: 'pending' } }, ['start a']],
    ['proceeds if its lane has become free', { task: { status: 'pending' }, holder: 'a' }, ['start a', 'proceed a']],
    ['is halted if it has ended', { task: { status: 'halted' } }, ['start a', 'halt a']],
    ['is halted if it was deleted', { task: null }, ['start a', 'halt a']],
  ])('behind another %s', async (_, more, done) => {
    const started = world({ create: waitsForLane, ...more });
    await started.dispatch.prompt(started.order);
    expect(started.done).toEqual(done);
  });
});

describe('a halt', () => {
  it('of a task without a run ends it, delivers its message and lets the next one proceed', async () => {
    const { dispatch, done } = world({ has_run: false, task: { turns: 3, owner: 'ann' }, webhook: 'hook', next: 'b' });
    await dispatch.halt('a');
    expect(done).toEqual(['halt a', 'settle a halted null 3', 'deliver {"id":"hook","owner":"ann"}', 'proceed b', 'halt a']);
  });

  it('of a task that was deleted does no more', async () => {
    const { dispatch, done } = world({ has_run: false });
    await dispatch.halt('a');
    expect(done).toEqual(['halt a', 'settle a halted null 0', 'halt a']);
  });
});

describe('a run of an evaluation', () => {
  it.each([
    [null, 1],
    [{ id: 'a' }, 0],
  ])('has a workflow, which is made once: %j', async (workflow, made) => {
    const { dispatch, done, order } = world({ workflow });
    expect(await dispatch.judge(order, DEFINITION as never)).toMatchObject({ run: { task_id: 'a' } });
    expect(done.filter((what) => what.startsWith('create workflow'))).toHaveLength(made);
  });

  it('is refused if its workflow is busy', async () => {
    const { dispatch, order } = world({ create: async () => null });
    await expect(dispatch.judge(order, DEFINITION as never)).rejects.toMatchObject({ code: 'workflow_busy' });
  });
});

describe('a decision about a run whose record is behind', () => {
  const TASK = {
    task_id: 'a',
    workflow_id: 'w',
    principal: 'p',
    turns: 4,
    definition_hash: 'h',
    holder: 'a',
    record_behind: 'step 3',
  };

  it('fails it, delivers its message and lets the next one proceed', async () => {
    const { continuity, done } = world({ webhook: 'hook', next: 'b' });
    await carryOut(continuity, { ...TASK, continuity: 'fail' } as never);
    expect(done).toEqual([
      ...['settle a failed record_behind 4', 'deliver {"id":"hook","owner":"p"}', 'proceed b', 'terminate a'],
    ]);
  });

  it.each<[object | null, string[]]>([
    [{ status: 'running' }, []],
    [{ status: 'halted' }, ['halt a']],
    [null, ['halt a']],
  ])('resumes it, unless it has ended meanwhile: %j', async (task, halted) => {
    const { continuity, done } = world({ task });
    await carryOut(continuity, { ...TASK, continuity: 'resume', behind_run_id: 'old' } as never);
    expect(done).toEqual(['terminate a', 'restart a', ...halted, 'done a']);
  });

  it.each([
    { continuity: 'resume', behind_run_id: null },
    { continuity: null, behind_run_id: 'old' },
  ])('is not there: %j', async (more) => {
    const { continuity, done } = world({});
    await carryOut(continuity, { ...TASK, ...more } as never);
    expect(done).toEqual([]);
  });

  it('is looked up, and is nothing for a task that has ended', async () => {
    const ended = world({});
    await ended.dispatch.continueRun('a');
    const open = world({ task: { ...TASK, continuity: 'fail' } });
    await open.dispatch.continueRun('a');
    expect([ended.done, open.done[0]]).toEqual([[], 'settle a failed record_behind 4']);
  });

  it.each([
    [true, 'behind'],
    [false, null],
  ])('is asked for once; the record takes it: %s', async (has_run, outcome) => {
    const { continuity } = world({ has_run });
    const missing = { run_id: 'r', missing: 'step 3', now: () => 'now' };
    expect(await parkWaiting(continuity, TASK as never, missing)).toBe(outcome);
  });
});

it('a session at the vendor is given texts, and no other file', async () => {
  const text = { id: 'one', name: 'a.txt', media_type: 'text/plain', size: 2, sha256: '' };
  const image = { id: 'two', name: 'b.png', media_type: 'image/png', size: 2, sha256: '' };
  const attachments = { contents: async () => [{ ...text, content: Buffer.from('hi') }] };
  const definition = { ...DEFINITION, provider: { name: 'Anthropic', provider_type: 'anthropic', base_url: null } } as never;
  const admit = (...files: (typeof text)[]) => textsToAdmit({ attachments } as never, definition, files);
  expect(await admit(text)).toEqual([{ path: 'attachments.0', text: 'hi' }]);
  await expect(admit(text, image)).rejects.toMatchObject({ errors: [{ path: 'attachments.1' }] });
});

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RecordChange } from '../../src/contracts/changes.ts';
import type { PlacedChange } from '../../src/events/bus.ts';
import { coalesceChanges, createChangeReaders, createPublishers } from '../../src/events/changes.ts';
import { createTaskEvents } from '../../src/events/task-events.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ALL = { kind: 'all', id: null };
const NO_USAGE = { total_in: 3, total_out: 5, cost: 0, cache_read: 0, cache_write: 0, premium_requests: 0 };

/** Readers on a bus that a test speaks through. */
function openReaders({ is_up = (): boolean => true, findOwner = async (id: string) => OWNERS[id] } = {}) {
  let publish: (change: PlacedChange | null) => void = () => {};
  const lookups: string[] = [];
  const readers = createChangeReaders({
    bus: {
      onChange(listener) {
        publish = listener;
        return () => {};
      },
      async ping() {
        if (!is_up()) throw new Error('down');
      },
    },
    findOwner(id) {
      lookups.push(id);
      return findOwner(id);
    },
  });
  const follow = (key: string, is_admin = false) => {
    const seen: RecordChange[] = [];
    const leaving = new AbortController();
    const stream = readers.follow({ key, is_admin }, leaving.signal);
    void (async () => {
      for await (const change of stream) seen.push(change);
    })();
    return { seen, leave: () => leaving.abort(), stream };
  };
  return { publish: (change: PlacedChange | null) => publish(change), readers, follow, lookups };
}

const OWNERS: Record<string, string> = { 'flow-of-ann': 'ann', 'flow-of-ben': 'ben' };
/** Lets everything happen that needs no time. */
const settle = () => vi.advanceTimersByTimeAsync(0);

describe('readers of changes', () => {
  it('get the runs in their own workflows, whose owner is looked up once', async () => {
    const { follow, publish, lookups } = openReaders();
    const [ann, ben] = [follow('ann'), follow('ben', true)];
    publish({ kind: 'tasks', id: '1', workflow_id: 'flow-of-ann' });
    publish({ kind: 'tasks', id: '2', workflow_id: 'flow-of-ann' });
    publish({ kind: 'tasks', id: '3', workflow_id: 'flow-of-ben' });
    publish({ kind: 'tasks', id: '4', workflow_id: 'deleted' });
    await settle();
    expect(ann.seen.map(({ id }) => id)).toEqual(['1', '2']);
    expect(ben.seen).toEqual([{ kind: 'tasks', id: '3', workflow_id: 'flow-of-ben' }]);
    expect(lookups).toEqual(['flow-of-ann', 'flow-of-ben', 'deleted']);
  });

  it.each([
    ['agents', null, ['ann', 'ben', 'root']],
    ['datasets', 'ann', ['ann']],
    ['keys', 'ann', ['ann', 'root']],
    ['tokens', 'ben', ['ben', 'root']],
    ['budgets', 'ben', ['ben', 'root']],
  ])('get a change of %s, with the owner %s: %j', async (kind, owner, expected) => {
    const { follow, publish } = openReaders();
    const people = { ann: follow('ann'), ben: follow('ben'), root: follow('root', true) };
    publish({ kind, id: '1', owner });
    await settle();
    const reached = Object.entries(people).flatMap(([name, { seen }]) => (seen.length > 0 ? [name] : []));
    expect(reached).toEqual(expected);
    expect(people[expected[0] as 'ann'].seen).toEqual([{ kind, id: '1' }]);
  });

  it('read everything again if the bus may have missed changes, and while it is down', async () => {
    let is_up = true;
    const { follow, publish } = openReaders({ is_up: () => is_up });
    const { seen } = follow('ann');
    publish(null);
    await settle();
    expect(seen).toEqual([ALL]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(seen).toEqual([ALL]);
    is_up = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(seen).toEqual([ALL, ALL]);
  });

  it('read everything again if an owner cannot be looked up', async () => {
    const { follow, publish } = openReaders({ findOwner: () => Promise.reject(new Error('The database is down')) });
    const { seen } = follow('ann');
    publish({ kind: 'tasks', id: '1', workflow_id: 'flow-of-ann' });
    await settle();
    expect(seen).toEqual([ALL]);
  });

  it.each([
    [19_998, 0],
    [19_999, 1],
  ])('share the owners of fewer than 20000 workflows: after %i others, one is looked up %i times more', async (others, more) => {
    const { follow, publish, lookups } = openReaders();
    const { seen } = follow('ann');
    const publishRun = (id: string) => publish({ kind: 'tasks', id, workflow_id: 'flow-of-ann' });
    publishRun('1');
    for (let count = 1; count <= others; count += 1) publish({ kind: 'tasks', id: '2', workflow_id: `deleted-${count}` });
    publishRun('3');
    await settle();
    expect(seen.map(({ id }) => id)).toEqual(['1', '3']);
    expect(lookups.filter((id) => id === 'flow-of-ann')).toHaveLength(1 + more);
  });

  it('that have left before they follow get nothing, and what they are given ends', async () => {
    const { readers, publish } = openReaders();
    const stream = readers.follow({ key: 'ann', is_admin: false }, AbortSignal.abort());
    publish({ kind: 'agents', id: '7', owner: null });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it.each([
    [500, 500],
    [501, 1],
  ])('that are slow keep %i changes as %i', async (changes, kept) => {
    const { readers, publish } = openReaders();
    const leaving = new AbortController();
    const stream = readers.follow({ key: 'ann', is_admin: false }, leaving.signal);
    for (let id = 1; id <= changes; id += 1) publish({ kind: 'agents', id: String(id), owner: null });
    leaving.abort();
    const seen: RecordChange[] = [];
    for await (const change of stream) seen.push(change);
    expect([seen.length, seen.at(-1)]).toEqual([kept, kept === 1 ? ALL : { kind: 'agents', id: '500' }]);
  });

  it('get nothing once they have left, and no owner is looked up for nobody', async () => {
    const { follow, publish, lookups } = openReaders();
    const { seen, leave } = follow('ann');
    leave();
    publish({ kind: 'tasks', id: '1', workflow_id: 'flow-of-ann' });
    publish(null);
    await settle();
    expect([seen, lookups]).toEqual([[], []]);
  });
});

describe('a burst of changes of one record', () => {
  it('is passed on at once, and once in a second from then on', async () => {
    const passed: PlacedChange[] = [];
    const publish = coalesceChanges((change) => passed.push(change));
    const change = { kind: 'tasks', id: '1', workflow_id: 'w' };
    for (let count = 0; count < 100; count += 1) publish(change);
    publish({ ...change, id: '2' });
    expect(passed.map(({ id }) => id)).toEqual(['1', '2']);
    await vi.advanceTimersByTimeAsync(999);
    expect(passed).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(passed.map(({ id }) => id)).toEqual(['1', '2', '1']);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(passed).toHaveLength(3);
    publish(change);
    expect(passed).toHaveLength(4);
  });
});

describe('the events of a run', () => {
  const { log, delta, message, status, usage } = createTaskEvents('t', () => 'now');

  it.each([
    ['a status', [status('running', 2)], ['tasks']],
    ['its usage', [usage(NO_USAGE)], ['tasks']],
    ['a wait for a person', [status('waiting', 2), log('question_asked', 'Who?', QUESTION())], ['tasks', 'inbox']],
    ['text', [delta('One'), message('assistant', 'One')], []],
    ['a tool call', [log('completed', '')], []],
  ])('change lists if they have %s', (_, events, kinds) => {
    const announced: number[] = [];
    const published: PlacedChange[] = [];
    const bus = {
      announce: (_id: string, { last }: { last: number }) => announced.push(last),
      publishChange: published.push.bind(published),
    };
    createPublishers(bus as never).publish('w', 't', { events, last: 7 });
    expect(announced).toEqual([7]);
    expect(published).toEqual(kinds.map((kind) => ({ kind, id: 't', workflow_id: 'w' })));
  });
});

function QUESTION() {
  return { call_id: 'c', tool: 'ask', turn: 1, question: {} } as never;
}

import { describe, expect, it } from 'vitest';
import type { LogPlace, Mark, ServerPlace } from '../../src/domain/epoch.ts';
import { epochKeeper } from '../../src/temporal/repair/epoch.ts';

const mark = (beat: number, more: Partial<Mark> = {}): Mark => ({ installation: 'i', epoch: 3, beat, ...more });
const place = (written: number, more: Partial<LogPlace> = {}): LogPlace => ({ cluster: 'c', timeline: 1, written, ...more });

interface World {
  record?: Mark & { server?: ServerPlace };
  engine?: Mark | null | Error;
  home?: { mark?: Mark | null; was_copied?: boolean; was_restored?: boolean };
  /** What cannot be written. */
  refuses?: 'engine' | 'home';
  /** How many times it refuses; always if not given. */
  times?: number;
  /** True if another process notices a restore first. */
  beaten?: boolean;
  /** The mark that is due. */
  due?: Mark | null;
}

/** A keeper whose record, engine and home are objects, and what was written into them. */
function keeperOf({
  record = mark(10),
  engine = mark(10),
  home = {},
  refuses,
  times = Infinity,
  beaten = false,
  due = null,
}: World = {}) {
  let recorded: Mark & { server?: ServerPlace } = record;
  const done: unknown[] = [];
  const lines: string[] = [];
  const writeTo = (name: 'engine' | 'home') => async (written: Mark) => {
    if (refuses === name && times-- > 0) throw new Error('no room');
    done.push([name, written.epoch, written.beat]);
  };
  const keeper = epochKeeper({
    record: {
      read: async () => recorded,
      async noteRestore(later?: Mark, still?: (now: Mark) => boolean) {
        done.push(['restore', later?.beat ?? null]);
        if (beaten || (still && !still(recorded))) return null;
        const { server: _, ...rest } = recorded;
        recorded = { ...rest, epoch: Math.max(recorded.epoch, later?.epoch ?? 0) + 1 };
        return { epoch: recorded.epoch, tasks: 17 };
      },
      async advance(seconds: number) {
        done.push(['advance', seconds]);
        return due;
      },
    } as never,
    engine: {
      read: async () => {
        if (engine instanceof Error) throw engine;
        return engine;
      },
      write: writeTo('engine'),
    },
    home: {
      read: async () => ({ mark: mark(10), was_copied: false, was_restored: false, ...home }),
      write: writeTo('home'),
    },
    log: (line) => void lines.push(line),
  });
  const goBack = (next: Mark) => {
    recorded = next;
  };
  return { keeper, done, lines, goBack };
}

const RESTORED = { epoch: 4, tasks: 17 };

describe('a look at the record', () => {
  it.each<[string, World]>([
    ['agree', {}],
    ['are behind it: they missed a moment', { engine: mark(9), home: { mark: mark(2) } }],
    ['are of another installation', { engine: mark(99, { installation: 'j' }), home: { mark: mark(99, { installation: 'j' }) } }],
    ['have none', { engine: null, home: { mark: null } }],
    ['do not answer', { engine: new Error('down') }],
    ['are of an epoch before', { engine: mark(99, { epoch: 2 }) }],
    ['have seen as long a log', { record: mark(10, { log: place(7) }), engine: mark(10, { log: place(7) }) }],
    ['were on another server', { record: mark(10, { log: place(7) }), engine: mark(10, { log: place(9, { cluster: 'd' }) }) }],
    ['were copied from another installation', { home: { mark: mark(1, { installation: 'j' }), was_copied: true } }],
  ])('finds nothing if its engine and home %s', async (_, world) => {
    const { keeper, done, lines } = keeperOf(world);
    expect(await keeper.look()).toBeNull();
    expect([done, lines]).toEqual([[['home', 3, 10]], []]);
  });

  it.each<[string, World, number | null, RegExp]>([
    ['engine', { engine: mark(11) }, 11, /older than what its engine has seen/],
    ['engine in a later epoch', { engine: mark(2, { epoch: 5 }) }, 2, /older than what its engine has seen/],
    ['home', { home: { mark: mark(11) } }, 11, /older than what its home has seen/],
    ['home, further than the engine', { engine: mark(11), home: { mark: mark(12) } }, 12, /its home has seen/],
    ['engine, further than the home', { engine: mark(12), home: { mark: mark(11) } }, 12, /its engine has seen/],
    [
      'engine: a longer log',
      { record: mark(10, { log: place(7) }), engine: mark(10, { log: place(8) }) },
      null,
      /its engine has seen/,
    ],
    ['home, which was copied', { home: { was_copied: true } }, null, /The home was restored or copied/],
    ['home, on which a restore was noted', { home: { was_restored: true } }, null, /The home was restored or copied/],
    [
      'server: it was promoted',
      { record: { ...mark(10, { log: place(7, { timeline: 2 }) }), server: place(7) } },
      null,
      /from timeline 1 to 2/,
    ],
    [
      'server: it is another one',
      { record: { ...mark(10, { log: place(7, { cluster: 'd' }) }), server: place(7) } },
      null,
      /another server than before/,
    ],
  ])('notices a restore by its %s', async (_, world, later, words) => {
    const { keeper, done, lines } = keeperOf(world);
    const restore = await keeper.look();
    expect(restore).toMatchObject({ tasks: 17 });
    expect(done).toEqual([
      ['restore', later],
      ['engine', restore!.epoch, 10],
      ['home', restore!.epoch, 10],
    ]);
    expect(lines).toEqual([expect.stringMatching(words)]);
    expect(lines[0]).toContain(`epoch ${restore!.epoch} begins. 17 unfinished tasks ask before they write`);
  });

  it('notices a record that goes back while this process runs, although engine and home went back with it', async () => {
    const { keeper, goBack } = keeperOf({ engine: mark(5), home: { mark: mark(5) } });
    expect(await keeper.look()).toBeNull();
    goBack(mark(6));
    expect(await keeper.look()).toEqual(RESTORED);
    expect(await keeper.look()).toBeNull();
  });

  it('leaves a restore to the process that was first, and takes over its epoch', async () => {
    const { keeper, done, lines } = keeperOf({ engine: mark(11), beaten: true });
    expect(await keeper.look()).toBeNull();
    expect([done, lines]).toEqual([
      [
        ['restore', 11],
        ['home', 3, 10],
      ],
      [],
    ]);
  });

  it('believes that a home was copied only at its start: later, this process writes there', async () => {
    const { keeper } = keeperOf({ home: { was_copied: true } });
    expect([await keeper.look(), await keeper.look()]).toEqual([RESTORED, null]);
  });

  it('begins an epoch although the engine takes no mark', async () => {
    const { keeper, done } = keeperOf({ home: { mark: mark(11) }, refuses: 'engine' });
    expect(await keeper.look()).toEqual(RESTORED);
    expect(done).toEqual([
      ['restore', 11],
      ['home', 4, 10],
    ]);
  });
});

describe('the mark', () => {
  it('is written at home once, and again until that succeeds', async () => {
    const { keeper, done } = keeperOf();
    await keeper.look();
    await keeper.look();
    expect(done).toEqual([['home', 3, 10]]);
    const full = keeperOf({ refuses: 'home', times: 2 });
    expect([await full.keeper.look(), await full.keeper.look()]).toEqual([null, null]);
    expect(full.done).toEqual([]);
    await full.keeper.look();
    await full.keeper.look();
    expect(full.done).toEqual([['home', 3, 10]]);
  });

  it('advances everywhere when it is due, a minute old', async () => {
    const { keeper, done } = keeperOf({ due: mark(11) });
    expect(await keeper.beat()).toBeNull();
    expect(done).toEqual([
      ['home', 3, 10],
      ['advance', 60],
      ['engine', 3, 11],
      ['home', 3, 11],
    ]);
  });

  it('stays where it is when it is not due, and reports a restore in any case', async () => {
    const { keeper, done } = keeperOf();
    expect(await keeper.beat(7)).toBeNull();
    expect(done).toEqual([
      ['home', 3, 10],
      ['advance', 7],
    ]);
    expect(await keeperOf({ engine: mark(11) }).keeper.beat()).toEqual(RESTORED);
    expect(await keeperOf({ engine: mark(11), due: mark(12) }).keeper.beat()).toEqual(RESTORED);
  });
});

import { describe, expect, it } from 'vitest';
import { findCallGap, findStepGap, formatBehind } from '../../../src/domain/continuity.ts';
import { formatMark, isBehind, isShorter, type Mark, parseMark } from '../../../src/domain/epoch.ts';
import { behindEvents } from '../../../src/temporal/start/continuity.ts';

describe('what the record lacks for a step', () => {
  const place = (more: object = {}) => ({ follows: true, unended: [], defined: true, ...more });
  it.each<[string, Parameters<typeof findStepGap>, string | null]>([
    ['nothing', [{ step: 3, denied: [] }, place()], null],
    ['the definition, whatever else', [{ step: 3, denied: [] }, place({ defined: false, follows: false })], 'its definition'],
    ['the step before', [{ step: 3, denied: [] }, place({ follows: false, unended: ['2-1'] })], 'step 2'],
    ['one result', [{ step: 3, denied: [] }, place({ unended: ['2-1'] })], 'the result of the call 2-1'],
    ['several results', [{ step: 3, denied: [] }, place({ unended: ['2-1', '2-2'] })], 'the result of the calls 2-1, 2-2'],
    ['no result of a call that was denied', [{ step: 3, denied: ['2-1'] }, place({ unended: ['2-1'] })], null],
    [
      'only results of calls that were made',
      [{ step: 3, denied: ['2-1'] }, place({ unended: ['2-1', '2-2'] })],
      'the result of the call 2-2',
    ],
  ])('is %s', (_, [order, found], missing) => {
    expect(findStepGap(order, found)).toBe(missing);
  });

  it.each([
    [{ known: true, defined: true }, null],
    [{ known: true, defined: false }, 'its definition'],
    [{ known: false, defined: true }, 'the call 2-1'],
    [{ known: false, defined: false }, 'the call 2-1'],
  ])('and for a call with %j', (found, missing) => {
    expect(findCallGap('2-1', { ...found, status: 'planned', attempts: 0 })).toBe(missing);
  });

  it.each([
    ['planned', 0, null, null],
    ['planned', 0, 'begun', 'the beginning of the call 2-1'],
    ['planned', 0, 'parked', 'the question about the call 2-1'],
    ['planned', 0, 'decided', 'the question about the call 2-1'],
    // It was released to be tried again.
    ['planned', 1, 'begun', null],
    ['waiting_approval', 0, 'parked', null],
    ['waiting_approval', 0, 'decided', 'the decision about the call 2-1'],
    ['waiting_reconciliation', 1, 'decided', null],
    ['started', 1, 'begun', null],
    ['done', 1, 'parked', null],
  ] as const)(
    'and for a call that is %s after %s attempts, of which the engine has seen: %s',
    (status, attempts, seen, missing) => {
      expect(findCallGap('2-1', { known: true, defined: true, status, attempts }, seen)).toBe(missing);
    },
  );

  it('is published with what a person can do, and the run waits', () => {
    const sentence =
      'The record of this run is older than its execution: it lacks step 2. Resume the run from its record, or fail it';
    expect(formatBehind('step 2')).toBe(sentence);
    const timestamp = '2026-01-31T12:00:00.000Z';
    expect(behindEvents('t', { missing: 'step 2', turns: 4, now: () => timestamp })).toEqual([
      { type: 'log', data: { event: 'record_behind', detail: sentence, missing: 'step 2' }, timestamp },
      { type: 'status', data: { status: 'waiting', current_turn: 4, task_id: 't' }, timestamp },
    ]);
  });
});

describe('the mark of an installation', () => {
  const mark = (epoch: number, beat: number, installation = 'one'): Mark => ({ installation, epoch, beat });
  const without = (field: string) => JSON.stringify({ ...mark(2, 5), [field]: undefined });

  it.each<[string, Mark, boolean]>([
    ['the same', mark(2, 5), false],
    ['a later beat', mark(2, 6), true],
    ['an earlier beat', mark(2, 4), false],
    ['a later epoch, whatever its beat', mark(3, 0), true],
    ['an earlier epoch, whatever its beat', mark(1, 9), false],
    ['another installation', mark(3, 9, 'other'), false],
  ])('is behind another or not: %s', (_, other, behind) => {
    expect(isBehind(mark(2, 5), other)).toBe(behind);
  });

  const at = (written: number, timeline = 1, cluster = 'c') => ({ cluster, timeline, written });
  it.each<[string, Mark, boolean]>([
    ['the same place', { ...mark(2, 5), log: at(100) }, false],
    ['an earlier place', { ...mark(2, 4), log: at(99) }, false],
    ['a later place', { ...mark(2, 4), log: at(101) }, true],
    ['a later place in an earlier epoch', { ...mark(1, 9), log: at(101) }, false],
    ['a later place on another timeline', { ...mark(2, 4), log: at(101, 2) }, false],
    ['a later place in another cluster', { ...mark(2, 4), log: at(101, 1, 'd') }, false],
    ['a later place of another installation', { ...mark(2, 4, 'other'), log: at(101) }, false],
    ['no place', mark(2, 4), false],
  ])('has a shorter log than another or not: %s', (_, other, shorter) => {
    expect(isShorter({ ...mark(2, 5), log: at(100) }, other)).toBe(shorter);
    expect(isShorter(mark(2, 5), other)).toBe(false);
  });

  it('is read with its place, which may be missing', () => {
    const placed = { ...mark(2, 5), log: at(100) };
    expect(parseMark(formatMark(placed))).toEqual(placed);
    for (const log of [null, 1, {}, { ...at(1), cluster: 1 }, { ...at(1), timeline: '1' }, { ...at(1), written: null }])
      expect(parseMark(JSON.stringify({ ...mark(2, 5), log }))).toEqual(mark(2, 5));
  });

  it('is read as it was written, and from nothing else', () => {
    expect(parseMark(formatMark({ ...mark(2, 5), more: 1 } as Mark))).toEqual(mark(2, 5));
    const wrong = [undefined, '', 'text', 'null', '{}', ...['installation', 'epoch', 'beat'].map(without)];
    expect(wrong.map(parseMark)).toEqual(wrong.map(() => null));
    for (const half of [{ epoch: 1.5 }, { beat: '5' }, { installation: 1 }])
      expect(parseMark(JSON.stringify({ ...mark(2, 5), ...half }))).toBeNull();
  });
});

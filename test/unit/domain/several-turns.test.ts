import { describe, expect, it } from 'vitest';
import {
  EARLIER_TURNS_POSITION,
  findCompactionCut,
  getSummaryPosition,
  replaceOlder,
  SUMMARY_POSITION,
  sinceSummary,
} from '../../../src/domain/compaction.ts';
import { MEMORY_POSITION, type TranscriptMessage } from '../../../src/domain/transcript.ts';

/** Each message takes eight tokens, unless it is longer. */
const of = (turn: number, step: number, more: Partial<TranscriptMessage> = {}): TranscriptMessage => ({
  ...{ turn, step, position: 0, role: 'assistant', kind: 'reply', content: `${turn}/${step}`.padEnd(16, 'x') },
  ...{ tool_calls: null, call_id: null, extra: null },
  ...more,
});
const promptOf = (turn: number, more: Partial<TranscriptMessage> = {}) => of(turn, 0, { role: 'user', kind: 'prompt', ...more });
const contextOf = (turn: number) => of(turn, 0, { position: MEMORY_POSITION, role: 'system', kind: 'context' });
const summaryAt = (turn: number, step: number) =>
  of(turn, step, { position: getSummaryPosition({ step }), role: 'user', kind: 'summary', content: 'Notes.' });

const FIRST = [contextOf(1), promptOf(1), of(1, 1), of(1, 2), of(1, 3)];
/** A turn that was halted before it had an answer. */
const SECOND = [promptOf(2)];
const THIRD = [contextOf(3), promptOf(3), of(3, 1), of(3, 2)];
const CONVERSATION = [...FIRST, ...SECOND, ...THIRD];

/** Messages with a summary at its place. */
const withSummary = (messages: TranscriptMessage[], summary: TranscriptMessage) =>
  [...messages, summary].sort((a, b) => a.turn! - b.turn! || a.step - b.step || a.position - b.position);

describe('a summary in a conversation of several turns', () => {
  it('that a turn has made leaves later turns what that turn was asked, and what came after it', () => {
    const read = sinceSummary(withSummary(CONVERSATION, summaryAt(1, 2)));
    expect(read).toEqual([...FIRST.slice(0, 2), summaryAt(1, 2), of(1, 3), ...SECOND, ...THIRD]);
  });

  it('of the turns before leaves nothing of them, and stands before what the turn was asked', () => {
    const read = sinceSummary(withSummary(CONVERSATION, summaryAt(3, 0)));
    expect(read).toEqual([summaryAt(3, 0), ...THIRD]);
    expect(EARLIER_TURNS_POSITION).toBeLessThan(MEMORY_POSITION);
    expect([0, 1, 7].map((step) => getSummaryPosition({ step }))).toEqual([
      ...[EARLIER_TURNS_POSITION, SUMMARY_POSITION, SUMMARY_POSITION],
    ]);
  });

  it.each([
    [0, [3, 1]],
    [15, [3, 1]],
    [16, [3, 0]],
    // The round before takes its own 8, 8 of the prompt that it is followed by, and 16 of what its turn was asked.
    [47, [3, 0]],
    [48, [1, 2]],
    [55, [1, 2]],
    [56, [1, 1]],
    [63, [1, 1]],
    [64, null],
  ])('covers what exceeds %i tokens', (keep, place) => {
    const cut = findCompactionCut(CONVERSATION, keep);
    expect(cut && [cut.turn, cut.step]).toEqual(place);
  });

  it.each([0, 16, 48, 56])('for %i tokens is read by the next step as by the one that made it', (keep) => {
    const cut = findCompactionCut(CONVERSATION, keep)!;
    const summary = summaryAt(cut.turn!, cut.step);
    const read = replaceOlder(CONVERSATION, cut, summary);
    expect(read).toEqual(sinceSummary(withSummary(CONVERSATION, summary)));
    expect([...cut.older, ...read].filter(({ kind }) => kind !== 'summary').toSorted(byPlace)).toEqual(CONVERSATION);
  });

  it('covers the prompts of earlier turns as ordinary messages', () => {
    expect(findCompactionCut(CONVERSATION, 16)).toEqual({
      older: [...FIRST, ...SECOND],
      recent: THIRD.slice(2),
      turn: 3,
      step: 0,
    });
    expect(findCompactionCut(CONVERSATION, 48)?.recent).toEqual([of(1, 3), ...SECOND, ...THIRD]);
  });

  it('covers an earlier turn whole if its prompt is too long to stay', () => {
    const long = promptOf(1, { content: 'x'.repeat(400) });
    const cut = findCompactionCut([long, of(1, 1), of(1, 2), ...THIRD], 127);
    expect([cut?.turn, cut?.step]).toEqual([3, 0]);
    expect(findCompactionCut([long, of(1, 1), of(1, 2), ...THIRD], 128)?.turn).toBe(1);
  });

  it('counts the files of the prompts that stay, as they are measured', () => {
    const measure = (messages: readonly TranscriptMessage[]) =>
      messages.reduce((sum, { kind }) => sum + (kind === 'prompt' ? 101 : 7), 0);
    const places = [236, 237].map((keep) => {
      // Rounds of 7, the context of the first turn, and the prompts of the first and of the second turn.
      const { turn, step } = findCompactionCut(CONVERSATION, keep, measure)!;
      return [turn, step];
    });
    expect(places).toEqual([
      [1, 2],
      [1, 1],
    ]);
    expect(findCompactionCut(CONVERSATION, 229, measure)).toMatchObject({ turn: 3, step: 0 });
  });

  it('covers everything before a turn that has no round yet, but never what this turn was asked', () => {
    const cut = findCompactionCut([...FIRST, ...THIRD.slice(0, 2)], 0);
    expect(cut).toEqual({ older: FIRST, recent: [], turn: 3, step: 0 });
    expect(findCompactionCut([...SECOND, ...THIRD.slice(0, 2)], 0)).toEqual({ older: SECOND, recent: [], turn: 3, step: 0 });
    expect(findCompactionCut(THIRD.slice(0, 2), 0)).toBeNull();
  });

  it('covers an earlier summary, together with something newer', () => {
    const read = sinceSummary(withSummary(CONVERSATION, summaryAt(1, 2)));
    const cut = findCompactionCut(read, 16);
    expect(cut?.older).toEqual([...FIRST.slice(0, 2), summaryAt(1, 2), of(1, 3), ...SECOND]);
    expect(findCompactionCut([summaryAt(3, 0), ...THIRD.slice(0, 3)], 0)).toBeNull();
  });
});

const byPlace = (a: TranscriptMessage, b: TranscriptMessage) => a.turn! - b.turn! || a.step - b.step || a.position - b.position;

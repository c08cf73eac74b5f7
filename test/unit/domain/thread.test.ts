import { describe, expect, it } from 'vitest';
import { SUMMARY_POSITION } from '../../../src/domain/compaction.ts';
import { buildThreadTranscript, type EarlierMessage, toOwnSummary } from '../../../src/domain/thread.ts';
import { KNOWLEDGE_POSITION, MEMORY_POSITION, type TranscriptMessage } from '../../../src/domain/transcript.ts';

const message = (step: number, position: number, more: Partial<TranscriptMessage> = {}): TranscriptMessage => ({
  ...{ step, position, role: 'assistant', kind: 'reply', content: `${step}/${position}`, tool_calls: null, call_id: null },
  ...{ extra: null, ...more },
});
const prompt = (content: string) => message(0, 0, { role: 'user', kind: 'prompt', content });
const summary = (step: number, position: number, extra: unknown = null) =>
  message(step, position, { role: 'user', kind: 'summary', content: 'Notes.', extra });
const asks = (step: number, ...call_ids: string[]) =>
  message(step, 0, { tool_calls: call_ids.map((call_id) => ({ call_id, name: 'add', arguments: '{}' })) });
const result = (step: number, position: number, call_id: string) =>
  message(step, position, { role: 'tool', kind: 'result', call_id });

const OPENAI = { provider_id: 'openai', model: 'small' };
const earlierOf = (turn: number, of: TranscriptMessage, made_by: Partial<typeof OPENAI> = {}): EarlierMessage => ({
  ...{ ...of, turn, attachments: null, ...OPENAI },
  ...made_by,
});
const NONE = { thread_turn: 1, earlier: [] };

/** The place of each message. */
const placesOf = (messages: TranscriptMessage[]) => messages.map(({ turn, step, position }) => [turn, step, position]);

describe('what the model of a turn reads', () => {
  it('is the turns before, then its own, each in the order of its steps and positions', () => {
    const turn_of_two = [message(1, 1), message(1, 0), prompt('One?')];
    const earlier = [...turn_of_two.map((one) => earlierOf(2, one)), earlierOf(1, message(11, 0)), earlierOf(1, message(2, 0))];
    const own = [message(1, 0), prompt('Two?'), message(0, KNOWLEDGE_POSITION), message(0, MEMORY_POSITION)];
    expect(placesOf(buildThreadTranscript({ thread_turn: 3, earlier }, own, OPENAI))).toEqual([
      [1, 2, 0],
      [1, 11, 0],
      [2, 0, 0],
      [2, 1, 0],
      [2, 1, 1],
      [3, 0, MEMORY_POSITION],
      [3, 0, KNOWLEDGE_POSITION],
      [3, 0, 0],
      [3, 1, 0],
    ]);
  });

  it('names the turn in the ids of calls and results, those of the run as well, so that no two are equal', () => {
    const round = [asks(1, '1-1', '1-2'), result(1, 1, '1-1'), result(1, 2, '1-2')];
    const earlier = round.map((one) => earlierOf(1, one));
    const sent = buildThreadTranscript({ thread_turn: 2, earlier }, round, OPENAI);
    expect(sent.map(({ tool_calls, call_id }) => [tool_calls?.map((call) => call.call_id) ?? null, call_id])).toEqual([
      [['1-1-1', '1-1-2'], null],
      [null, '1-1-1'],
      [null, '1-1-2'],
      [['2-1-1', '2-1-2'], null],
      [null, '2-1-1'],
      [null, '2-1-2'],
    ]);
    expect(sent[0]!.tool_calls![0]).toEqual({ call_id: '1-1-1', name: 'add', arguments: '{}' });
  });

  it('is the beginning of what the model of the next turn reads', () => {
    const own = [prompt('One?'), asks(1, '1-1'), result(1, 1, '1-1'), message(2, 0, { extra: { signature: 'x' } })];
    const sent = buildThreadTranscript(NONE, own, OPENAI);
    const earlier = own.map((one) => earlierOf(1, one));
    const next = buildThreadTranscript({ thread_turn: 2, earlier }, [prompt('Two?')], OPENAI);
    expect(next).toEqual([...sent, { ...prompt('Two?'), turn: 2 }]);
  });

  it.each([
    ['the model that is asked', {}, { signature: 'x' }],
    ['another model of its provider', { model: 'large' }, null],
    ['a model of this name at another provider', { provider_id: 'other' }, null],
    ['the default runtime', { provider_id: null as unknown as string }, null],
  ])('has the signed thinking of an earlier reply of %s: %j', (_, made_by, extra) => {
    const earlier = [earlierOf(1, message(1, 0, { extra: { signature: 'x' } }), made_by)];
    const [sent] = buildThreadTranscript({ thread_turn: 2, earlier }, [], OPENAI);
    expect(sent).toEqual({ ...message(1, 0), turn: 1, extra });
  });

  it('has the signed thinking of replies in the same turn', () => {
    const own = message(1, 0, { extra: { signature: 'x' } });
    expect(buildThreadTranscript({ thread_turn: 2, earlier: [] }, [own], { provider_id: 'other', model: null })).toEqual([
      { ...own, turn: 2 },
    ]);
  });

  it('has summaries where they stand, although another turn has made them', () => {
    const made_by_second = summary(0, SUMMARY_POSITION, { turn: 1, step: 7, position: SUMMARY_POSITION });
    const earlier = [earlierOf(1, message(7, 0)), earlierOf(1, message(8, 0)), earlierOf(2, made_by_second)];
    const sent = buildThreadTranscript({ thread_turn: 3, earlier }, [], OPENAI);
    expect(placesOf(sent)).toEqual([
      [1, 7, 0],
      [1, 7, SUMMARY_POSITION],
      [1, 8, 0],
    ]);
    expect(sent[1]).toEqual({ ...summary(7, SUMMARY_POSITION), turn: 1 });
  });

  it('has a summary that its own turn has made of itself where it is', () => {
    const sent = buildThreadTranscript({ thread_turn: 3, earlier: [] }, [summary(2, SUMMARY_POSITION), message(3, 0)], OPENAI);
    expect(placesOf(sent)).toEqual([
      [3, 2, SUMMARY_POSITION],
      [3, 3, 0],
    ]);
  });
});

it('what the model of a run in no conversation reads is its own messages as they are', () => {
  const own = [prompt('One?'), asks(1, '1-1'), result(1, 1, '1-1'), summary(1, SUMMARY_POSITION)];
  expect(buildThreadTranscript({ thread_turn: null, earlier: [] }, own, OPENAI)).toEqual(own);
});

describe('a summary is kept by the run that makes it', () => {
  it.each([
    ['of a run in no conversation', null, undefined],
    ['of the turn itself', 5, 5],
  ])('%s where it stands', (_, thread_turn, turn) => {
    const made = { ...summary(3, SUMMARY_POSITION), ...(turn === undefined ? {} : { turn }) };
    expect(toOwnSummary(made, { thread_turn, messages: [] })).toBe(made);
  });

  it('of an earlier turn among its first messages, with the place as its data, and reads it there again', () => {
    const made = { ...summary(3, SUMMARY_POSITION), turn: 2 };
    const kept = toOwnSummary(made, { thread_turn: 5, messages: [prompt('One?')] });
    expect(kept).toMatchObject({ step: 0, position: SUMMARY_POSITION, extra: { turn: 2, step: 3, position: SUMMARY_POSITION } });
    const { turn: _, ...row } = kept;
    expect(buildThreadTranscript({ thread_turn: 5, earlier: [] }, [row], OPENAI)).toEqual([made]);
  });

  it('after those that it has made before', () => {
    const made = { ...summary(3, SUMMARY_POSITION), turn: 2 };
    const messages = [prompt('One?'), summary(0, SUMMARY_POSITION), summary(0, SUMMARY_POSITION + 1)];
    expect(toOwnSummary(made, { thread_turn: 5, messages }).position).toBe(SUMMARY_POSITION + 2);
  });
});

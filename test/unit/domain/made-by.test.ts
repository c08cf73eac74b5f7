import { describe, expect, it } from 'vitest';
import type { PinnedProvider } from '../../../src/domain/definition.ts';
import { leaveOutOthers, type MadeBy, type Maker, toMaker } from '../../../src/domain/made-by.ts';

const CLAUDE: Maker = { provider_type: 'anthropic_messages', model: 'claude-3' };
const GEMINI: Maker = { provider_type: 'openai_compatible', model: 'gemini-5' };

/** Replies in two steps of each turn, each with an addition named after its place, and a result. */
const MESSAGES = [1, 2].flatMap((turn) => [
  { turn, step: 1, role: 'assistant' as const, extra: `${turn}-1` },
  { turn, step: 1, role: 'tool' as const, extra: `file of ${turn}` },
  { turn, step: 2, role: 'assistant' as const, extra: `${turn}-2` },
]);
const sentTo = (asked: Maker, made_by: MadeBy[]) => leaveOutOthers(MESSAGES, { asked, made_by }).map(({ extra }) => extra);

describe('replies of earlier turns', () => {
  const made_by: MadeBy[] = [
    { turn: 1, maker: CLAUDE },
    { turn: 2, maker: GEMINI, others: { 2: CLAUDE } },
  ];

  it('keep their additions for the model that made them, step by step', () => {
    expect(sentTo(CLAUDE, made_by)).toEqual(['1-1', 'file of 1', '1-2', null, 'file of 2', '2-2']);
    expect(sentTo(GEMINI, made_by)).toEqual([null, 'file of 1', null, '2-1', 'file of 2', null]);
  });

  it('lose them for another model of the same provider, and for the same one of another type', () => {
    const none = [null, 'file of 1', null, null, 'file of 2', null];
    expect(sentTo({ ...CLAUDE, model: 'claude-7' }, made_by)).toEqual(none);
    expect(sentTo({ ...CLAUDE, provider_type: 'openai' }, made_by)).toEqual(none);
    expect(sentTo({ provider_type: null, model: null }, made_by)).toEqual(none);
  });

  it('lose them if nobody knows who made them', () => {
    expect(sentTo(CLAUDE, made_by.slice(0, 1))).toEqual(['1-1', 'file of 1', '1-2', null, 'file of 2', null]);
  });

  it('of the default runtime keep them there', () => {
    const own = { provider_type: null, model: null };
    expect(sentTo(own, [{ turn: 2, maker: own }])).toEqual([null, 'file of 1', null, '2-1', 'file of 2', '2-2']);
  });
});

describe('the maker of a definition', () => {
  const provider = { provider_type: 'openai', base_url: null, default_model: 'gpt-11' } as PinnedProvider;

  it('is its model, or else the default one of its provider', () => {
    expect(toMaker({ provider, model: 'gpt-13' })).toEqual({ provider_type: 'openai', model: 'gpt-13' });
    expect(toMaker({ provider, model: null })).toEqual({ provider_type: 'openai', model: 'gpt-11' });
  });

  it('without a provider is the default runtime', () => {
    expect(toMaker({ provider: null, model: null })).toEqual({ provider_type: null, model: null });
    expect(toMaker({ provider: null, model: 'gpt-17' })).toEqual({ provider_type: null, model: 'gpt-17' });
  });
});

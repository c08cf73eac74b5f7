import { describe, expect, it } from 'vitest';
import { diffDocuments } from '../../src/domain/changes.ts';

const skill = (name: string, instructions: string) => ({ name, instructions });

describe('changes between two documents', () => {
  it('are none if only the order of keys differs', () => {
    expect(diffDocuments({ a: 1, b: { c: [1, 2], d: null } }, { b: { d: null, c: [1, 2] }, a: 1 })).toEqual([]);
  });

  it('are none of a field that is undefined on one side and missing on the other', () => {
    expect(diffDocuments({ a: 1, b: undefined }, { a: 2 })).toEqual([{ path: 'a', kind: 'changed', before: 1, after: 2 }]);
  });

  it('name the innermost field', () => {
    const before = { model: 'small', settings: { max_turns: 5, caveman: false } };
    const after = { model: 'small', settings: { max_turns: 20, caveman: false } };
    expect(diffDocuments(before, after)).toEqual([{ path: 'settings.max_turns', kind: 'changed', before: 5, after: 20 }]);
  });

  it('distinguish a field that is absent from one that is null', () => {
    expect(diffDocuments({ a: null }, { b: null })).toEqual([
      { path: 'a', kind: 'removed', before: null },
      { path: 'b', kind: 'added', after: null },
    ]);
  });

  it('show a value whole that became another kind of value', () => {
    const budget = { max_tokens: 5 };
    expect(diffDocuments({ budget: null }, { budget })).toEqual([
      { path: 'budget', kind: 'changed', before: null, after: budget },
    ]);
  });

  it('match the objects of a list by their names', () => {
    const before = { skills: [skill('tone', 'Be kind.'), skill('law', 'Cite it.')] };
    const after = { skills: [skill('tone', 'Be brief.'), skill('tax', 'Count.')] };
    expect(diffDocuments(before, after)).toEqual([
      { path: 'skills[tone].instructions', kind: 'changed', before: 'Be kind.', after: 'Be brief.' },
      { path: 'skills[law]', kind: 'removed', before: skill('law', 'Cite it.') },
      { path: 'skills[tax]', kind: 'added', after: skill('tax', 'Count.') },
    ]);
  });

  it('report another order of named objects, once', () => {
    const [a, b] = [skill('a', 'x'), skill('b', 'x')];
    expect(diffDocuments({ skills: [a, b] }, { skills: [b, a] })).toEqual([
      { path: 'skills', kind: 'reordered', before: ['a', 'b'], after: ['b', 'a'] },
    ]);
    expect(diffDocuments({ skills: [a, b] }, { skills: [b] })).toEqual([{ path: 'skills[a]', kind: 'removed', before: a }]);
  });

  it('keep objects with the same name apart', () => {
    const change = diffDocuments([skill('a', 'x'), skill('a', 'y')], [skill('a', 'x'), skill('a', 'z')]);
    expect(change).toEqual([{ path: '[a 2].instructions', kind: 'changed', before: 'y', after: 'z' }]);
  });

  it('show other lists whole', () => {
    expect(diffDocuments({ tools: ['a'] }, { tools: ['a', 'b'] })).toEqual([
      { path: 'tools', kind: 'changed', before: ['a'], after: ['a', 'b'] },
    ]);
  });
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { splitIntoChunks } from '../../src/domain/chunks.ts';
import { pickPassages } from '../../src/domain/knowledge.ts';
import { parseFacts } from '../../src/domain/memory.ts';

it('cuts any text into chunks of a bounded size that hold all of its words', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), { maxLength: 300 }), (parts) => {
      const words = parts.flatMap((part) => part.split(/\s+/)).filter(Boolean);
      const chunks = splitIntoChunks(words.join(' '));
      const all = chunks.join(' ');
      expect(words.every((word) => all.includes(word))).toBe(true);
      expect(chunks.every((chunk) => chunk.length <= 1_200 && chunk.isWellFormed())).toBe(true);
    }),
    { numRuns: 50 },
  );
});

it('cuts between paragraphs where it can, and repeats the end of a chunk in the next', () => {
  const chunks = splitIntoChunks(`${'first. '.repeat(100)}\n\n${'second. '.repeat(100)}`);
  expect(chunks).toHaveLength(2);
  expect(chunks[0]).not.toContain('second');
  expect(chunks[1]).toMatch(/^first\..*second\.$/s);
});

it('takes text without a single break', () => {
  const chunks = splitIntoChunks('𝕏'.repeat(2_000));
  expect(chunks.length).toBeGreaterThan(2);
  expect(chunks.every((chunk) => chunk.isWellFormed())).toBe(true);
});

it('quotes what is related, within a budget', () => {
  const base = { item_id: null, source_id: 's', name: 'n', tags: [], position: 0, score: 0.5 };
  const passage = (content: string, text_score: number | null, vector_score: number | null) => ({
    ...base,
    content,
    text_score,
    vector_score,
  });
  const chosen = pickPassages([
    passage('words', 0.1, null),
    passage('near', null, 0.9),
    passage('far', null, 0.1),
    passage('x'.repeat(8_000), 1, 1),
    passage('small', 1, 1),
  ]);
  expect(chosen.map(({ content }) => content)).toEqual(['words', 'near', 'small']);
});

it('reads facts from whatever a model answers', () => {
  expect(parseFacts('Sure: {"facts": [{"key": " a ", "value": "b"}, {"key": 1}, {"key": "", "value": "x"}]} done')).toEqual([
    { key: 'a', value: 'b' },
  ]);
  fc.assert(fc.property(fc.string(), (text) => void expect(Array.isArray(parseFacts(text))).toBe(true)));
  fc.assert(fc.property(fc.json(), (text) => void expect(parseFacts(text).length).toBeLessThanOrEqual(3)));
});

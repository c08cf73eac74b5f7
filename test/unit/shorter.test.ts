import { expect, it } from 'vitest';
import { findCompactionCut, sinceSummary } from '../../src/domain/compaction.ts';
import { estimateTokens } from '../../src/domain/context-window.ts';
import { resolveContextWindow } from '../../src/domain/resolve-window.ts';
import type { TranscriptMessage } from '../../src/domain/transcript.ts';
import { shorterAsTsv } from '../../src/domain/tsv.ts';

it('makes a table only of arrays of flat objects, and only where it is shorter', () => {
  const rows = [
    { id: 1, name: 'a', ok: true },
    { id: 2, name: 'b', ok: null },
  ];
  expect(shorterAsTsv(JSON.stringify(rows))).toBe('id\tname\tok\n1\ta\ttrue\n2\tb\tnull');
  expect(shorterAsTsv(JSON.stringify({ result: rows }))).toContain('id\tname');
  for (const other of [
    '[{"a":{"b":1}}]',
    '[1,2]',
    '{"a":1}',
    'no JSON',
    '[]',
    '[{"a":1}',
    JSON.stringify({ result: rows, more: 1 }),
  ])
    expect(shorterAsTsv(other)).toBe(other);
});

it('distinguishes text that looks like a number or a keyword from the real one', () => {
  const lines = shorterAsTsv(
    JSON.stringify([
      { text: '12', number: 12, none: null, nothing: '', word: 'null' },
      { text: 'x', number: 1, none: 2, nothing: 'y', word: 'z' },
    ]),
  );
  expect(lines.split('\n')[1]).toBe('"12"\t12\tnull\t""\t"null"');
});

it('knows windows by the name of a model, after what the provider is set to and what the endpoint names', () => {
  const by = { set: null, fallback: 9 };
  expect(resolveContextWindow('openai/gpt-4.1-mini', by)).toEqual({ tokens: 1_047_576, from: 'known' });
  expect(resolveContextWindow('gpt-4-0613', by)).toEqual({ tokens: 8_192, from: 'known' });
  expect(resolveContextWindow('gpt-4-0613', { ...by, named: 7 })).toEqual({ tokens: 7, from: 'endpoint' });
  expect(resolveContextWindow(null, by)).toEqual({ tokens: 9, from: 'default' });
  expect(resolveContextWindow('gpt-4.1', { set: 50, named: 7, fallback: 9 })).toEqual({ tokens: 50, from: 'provider' });
  expect(estimateTokens('é'.repeat(4))).toBe(2);
});

const message = (step: number, position: number, kind: TranscriptMessage['kind'], size = 40): TranscriptMessage => ({
  ...{ step, position, kind, content: 'x'.repeat(size), tool_calls: null, call_id: null, extra: null },
  role: kind === 'result' ? 'tool' : kind === 'reply' ? 'assistant' : 'user',
});
const round = (step: number) => [message(step, 0, 'reply'), message(step, 1, 'result'), message(step, 2, 'result')];

it('cuts between rounds and always keeps the latest one whole', () => {
  const read = [message(0, 0, 'prompt'), ...round(1), ...round(2), ...round(3)];
  const cut = findCompactionCut(read, 100)!;
  expect(cut.step).toBe(1);
  expect(cut.recent).toEqual([...round(2), ...round(3)]);
  expect(cut.older).toEqual(round(1));
  expect(findCompactionCut(read, 0)!.recent).toEqual(round(3));
  expect(findCompactionCut([message(0, 0, 'prompt'), ...round(1)], 0)).toBeNull();
});

it('reads the goal, the last summary and what follows it', () => {
  const first = message(1, 200_000, 'summary');
  const second = message(2, 200_000, 'summary');
  const all = [message(0, 0, 'prompt'), ...round(1), first, ...round(2), second, ...round(3)];
  expect(sinceSummary(all)).toEqual([message(0, 0, 'prompt'), second, ...round(3)]);
  expect(findCompactionCut(sinceSummary(all), 0)).toBeNull();
});

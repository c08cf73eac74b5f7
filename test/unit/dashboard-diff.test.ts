import { describe, expect, it } from 'vitest';
import { compareUrl, parseIds, stepLine, stepShape, transcriptText } from '../../src/dashboard/runs/compared.ts';
import { textDifference } from '../../src/dashboard/ui/diff-rows.ts';

const lines = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => `line ${from + at}\n`).join('');

describe('the difference of two texts', () => {
  it('is by words if both have one line', () => {
    expect(textDifference('Be kind to all.', 'Be strict to all.')).toEqual({
      by_line: false,
      parts: [
        { kind: 'same', text: 'Be ' },
        { kind: 'removed', text: 'kind' },
        { kind: 'added', text: 'strict' },
        { kind: 'same', text: ' to all.' },
      ],
    });
  });

  it('is by lines if they have no word in common', () => {
    const parts = [
      { kind: 'removed', text: '4' },
      { kind: 'added', text: '9' },
    ];
    expect(textDifference('4', '9')).toEqual({ by_line: true, parts });
  });

  it('is by lines otherwise, without equal lines far from a difference', () => {
    expect(textDifference(`${lines(1, 9)}old\n${lines(11, 30)}old\n`, `${lines(1, 9)}new\n${lines(11, 30)}`).parts).toEqual([
      { kind: 'skipped', lines: 6 },
      { kind: 'same', text: lines(7, 9) },
      { kind: 'removed', text: 'old\n' },
      { kind: 'added', text: 'new\n' },
      { kind: 'same', text: lines(11, 13) },
      { kind: 'skipped', lines: 14 },
      { kind: 'same', text: lines(28, 30) },
      { kind: 'removed', text: 'old\n' },
    ]);
  });

  it('keeps a single equal line, which takes no more room than a word about it', () => {
    const parts = textDifference(`${lines(1, 4)}a\n`, `${lines(1, 4)}b\n`).parts;
    expect(parts[0]).toEqual({ kind: 'same', text: lines(1, 4) });
  });

  it('of texts that have little in common is one text after the other', () => {
    const [before, after] = [lines(1, 1_100), lines(1_101, 2_200)];
    expect(textDifference(before, after).parts).toEqual([
      { kind: 'removed', text: before },
      { kind: 'added', text: after },
    ]);
  });

  it('from nothing is what was added', () => {
    expect(textDifference('', 'New.').parts).toEqual([{ kind: 'added', text: 'New.' }]);
  });
});

describe('compared runs', () => {
  it('are named in the address, each once and at most four', () => {
    expect(parseIds('a, b,a,,c,d,e')).toEqual(['a', 'b', 'c', 'd']);
    expect(parseIds(undefined)).toEqual([]);
    expect(compareUrl(['a', 'b'])).toBe('/runs/compare?ids=a,b');
  });

  const call = (name: string, failed = false) => ({ name, failed });
  const step = (more: object) =>
    ({
      model: 'm',
      duration_ms: 1500,
      usage: { total_in: 10, total_out: 5, cost: 0.02 },
      tool_calls: [],
      error: null,
      ...more,
    }) as never;

  it('show a step in a line, with its tools', () => {
    const calls = [call('search'), call('fetch'), call('fetch'), call('fetch', true)];
    expect(stepLine(step({ tool_calls: calls }))).toBe('m · 1.5 s · 15 tokens · $0.02 · search, 2 × fetch, fetch (failed)');
    expect(stepLine(undefined)).toBe('—');
  });

  it('differ in a step by its model, error and tools, and not by its time', () => {
    expect(stepShape(step({ duration_ms: 9 }))).toBe(stepShape(step({})));
    expect(stepShape(step({ tool_calls: [call('search')] }))).not.toBe(stepShape(step({})));
    expect(stepShape(undefined)).not.toBe(stepShape(step({})));
  });

  it('have their conversation as a text, with its prompt and calls', () => {
    const messages = [
      { role: 'assistant', kind: 'reply', step: 1, content: '', tool_calls: [{ name: 'add', arguments: '{"a":1}' }] },
      { role: 'tool', kind: 'result', step: 1, content: '2', tool_calls: null },
    ];
    expect(transcriptText({ prompt: 'Add.', messages } as never)).toBe(
      '[user, prompt]\nAdd.\n\n[assistant, step 1]\n→ add({"a":1})\n\n[tool, result, step 1]\n2\n',
    );
  });
});

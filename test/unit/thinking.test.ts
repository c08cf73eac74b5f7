import { describe, expect, it } from 'vitest';
import { createThinkingSplitter, splitThinking } from '../../src/domain/thinking.ts';

const ANSWER = '{"answer": 4}';
const THOUGHT = 'let me see {"x":1} < 2';

/** Answers as the templates of models write them. */
const THINKING = [
  ...['think', 'thinking', 'thought', 'reasoning', 'seed:think', 'THINK'].map(
    (tag) => `<${tag}>${THOUGHT}</${tag}>\n\n${ANSWER}`,
  ),
  `<thoughts></thoughts><thinking>${THOUGHT}</thinking>${ANSWER}`,
  `<reasoning>${THOUGHT}</reasoning><|begin_of_solution|>${ANSWER}<|end_of_solution|>`,
  `\n<think>\n${THOUGHT}\n</think>\n${ANSWER}`,
  `<think></think><think>${THOUGHT}</think>${ANSWER}`,
  `[THINK]${THOUGHT}[/THINK]${ANSWER}`,
  `◁think▷${THOUGHT}◁/think▷${ANSWER}`,
  `<|begin_of_thought|>${THOUGHT}<|end_of_thought|>\n<|begin_of_solution|>${ANSWER}<|end_of_solution|>`,
  `<|START_THINKING|>${THOUGHT}<|END_THINKING|><|START_RESPONSE|>${ANSWER}<|END_RESPONSE|>`,
  `<|channel|>analysis<|message|>${THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>${ANSWER}<|return|>`,
  `<unused94>thought\n${THOUGHT}<unused95>${ANSWER}`,
  `${THOUGHT}</think>\n\n${ANSWER}`,
  `${THOUGHT}\n</think>${ANSWER}`,
  `${THOUGHT}[/THINK]\n${ANSWER}`,
];

/** Answers that are about the marks, or only begin like them. */
const PLAIN = [
  ANSWER,
  'Models write <think> before they answer, and </think> after it.',
  'Close it with `</think>`\nand write.',
  '```xml\n</think>\n```',
  'Use <think>a</think>\nlike this.',
  '<table><tr></tr></table>',
  '<analysis>so</analysis><verdict>4</verdict>',
  '<reasoning>so</reasoning><verdict>4</verdict>',
  ' <thoughts>so</thoughts>\n<thinking>and</thinking>\n<answer>4</answer>\n',
  '<thought>so</thought> <b>4</b>',
  '{"html": "</think>{"}',
  '["</think>"]',
  'İ <think> is a mark',
  '<thinker>x</thinker>',
  '[thin] ice',
  '<',
  '',
  '  indented',
];

const inPieces = (text: string, size: number) => {
  const splitter = createThinkingSplitter();
  let shown = '';
  for (let at = 0; at < text.length; at += size) shown += splitter.push(text.slice(at, at + size));
  shown += splitter.end();
  const { text: whole, reasoning } = splitter.all();
  return { shown, text: whole, reasoning };
};

describe('thinking is split off an answer', () => {
  it.each(THINKING)('%j', (text) => {
    expect(splitThinking(text)).toEqual({ text: ANSWER, reasoning: THOUGHT });
  });

  it.each(THINKING)('%j, in pieces of every size', (text) => {
    for (let size = 1; size <= text.length; size += 1) {
      const { shown, ...split } = inPieces(text, size);
      expect(split, `${size}`).toEqual({ text: ANSWER, reasoning: THOUGHT });
      // Only the end of it is marked: it is known too late.
      if (!text.startsWith(THOUGHT)) expect(shown.startsWith(ANSWER), `${size}`).toBe(true);
    }
  });
});

it.each(PLAIN)('%j is an answer', (text) => {
  for (let size = 1; size <= Math.max(1, text.length); size += 1)
    expect(inPieces(text, size), `${size}`).toEqual({ shown: text, text, reasoning: '' });
});

it('an answer behind more blanks than are waited for is not thinking', () => {
  const splitter = createThinkingSplitter();
  const shown = splitter.push(`<thinking>${THOUGHT}</thinking>${' '.repeat(2_000)}${ANSWER}`) + splitter.end();
  expect({ ...splitter.all(), shown: shown.trim() }).toEqual({
    text: ANSWER,
    reasoning: THOUGHT,
    is_unended: false,
    shown: ANSWER,
  });
});

it.each([
  ['letters that are longer in small', `<think>${'İ'.repeat(9)} in İstanbul</think>${ANSWER}`, 'İİİİİİİİİ in İstanbul'],
  ['no thinking between the marks', `<think></think>\n\n${ANSWER}`, ''],
  ['only space between the marks', `<think>\n\n</think>\n\n${ANSWER}`, ''],
  ['an answer that is marked alone', `<|channel|>final<|message|>${ANSWER}<|return|>`, ''],
  ['two thoughts', `<think>one</think>\n<think>two</think>${ANSWER}`, 'one\n\ntwo'],
  ['letters that are longer in small, and the end alone', `İİ so</think>\n${ANSWER}`, 'İİ so'],
])('%s: the answer is whole', (_, text, reasoning) => {
  for (let size = 1; size <= text.length; size += 1)
    expect(inPieces(text, size), `${size}`).toMatchObject({ text: ANSWER, reasoning });
});

it('thinking that never ends is kept', () => {
  expect(splitThinking('<think>so far')).toEqual({ text: '', reasoning: 'so far' });
});

it.each(['<think></think>'.repeat(40_000), ' '.repeat(400_000), '<think>'.repeat(60_000), `${'<'.repeat(400_000)}</think>`])(
  'takes a time in proportion to the text',
  (text) => {
    const { text: shown, reasoning } = splitThinking(text);
    expect(shown.length + reasoning.length).toBeLessThanOrEqual(text.length);
  },
);

it.each(['<thinking>all of it</thinking>', '<reasoning>all of it</reasoning>\n', '<thought>all of it'])(
  '%j has no other answer',
  (text) => {
    const splitter = createThinkingSplitter();
    splitter.push(text);
    expect(splitter.end()).toBe('');
    expect(splitter.all()).toEqual({ text: '', reasoning: 'all of it', is_unended: true });
  },
);

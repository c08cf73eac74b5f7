import { afterAll, describe, expect, it } from 'vitest';
import type { PinnedGuardrail } from '../../src/domain/definition.ts';
import { createJudge, holdsBack } from '../../src/guardrails/judge.ts';
import { createParserPool } from '../../src/parsers/pool.ts';

const pool = createParserPool({ processes: 1 });
const judge = createJudge(pool, { deadline_ms: 20_000, patience_ms: 20_000 });
afterAll(() => pool.close());

const guardrail = (name: string, guardrail_type: 'prompt' | 'request' | 'output', config: object) =>
  ({ id: name, name, guardrail_type, config }) as unknown as PinnedGuardrail;
const output = (name: string, config: object) => guardrail(name, 'output', config);
const redacts = (name: string, ...forbidden_patterns: string[]) => output(name, { forbidden_patterns, action: 'redact' });
const blocks = (name: string, ...forbidden_patterns: string[]) => output(name, { forbidden_patterns, action: 'block' });
const warns = (name: string, ...forbidden_patterns: string[]) => output(name, { forbidden_patterns, action: 'warn' });

const verdict = (guardrails: PinnedGuardrail[], text: string, final = true) =>
  judge.judgeAnswer(guardrails, text, { owner: 'alice', final });
const found = async (guardrails: PinnedGuardrail[], text: string) => {
  const { findings, text: passed } = await verdict(guardrails, text);
  return [passed, findings.map(({ guardrail: name, action }) => `${name} ${action}`)];
};

describe('several output guardrails judge an answer in their order', () => {
  const red = redacts('red', 'red');
  const blue = redacts('blue', 'blue');
  const mark = blocks('mark', 'REDACTED');
  const noRed = blocks('no red', 'red');
  const seesRed = warns('sees red', 'red');

  it.each<[string, PinnedGuardrail[], string | null, string[]]>([
    ['two that redact, each its own', [red, blue], '[REDACTED] and [REDACTED]', ['red redact', 'blue redact']],
    ['the other way round', [blue, red], '[REDACTED] and [REDACTED]', ['blue redact', 'red redact']],
    ['one that blocks sees what the one before it let through', [red, noRed], '[REDACTED] and blue', ['red redact']],
    ['and blocks before the other can redact', [noRed, red], null, ['no red block']],
    ['the second sees the mark of the first', [red, mark], null, ['red redact', 'mark block']],
    ['a warning changes nothing', [seesRed, red], '[REDACTED] and blue', ['sees red warn', 'red redact']],
    ['nor does it see what was redacted', [red, seesRed], '[REDACTED] and blue', ['red redact']],
    [
      'three: warn, redact, redact',
      [seesRed, red, blue],
      '[REDACTED] and [REDACTED]',
      ['sees red warn', 'red redact', 'blue redact'],
    ],
    ['three: redact, redact, block', [red, blue, mark], null, ['red redact', 'blue redact', 'mark block']],
    [
      'three: redact, block, warn: nothing is judged after a block',
      [blue, noRed, seesRed],
      null,
      ['blue redact', 'no red block'],
    ],
    ['those for prompts judge no answer', [guardrail('p', 'prompt', { forbidden_patterns: ['red'] })], 'red and blue', []],
  ])('%s', async (_, guardrails, text, findings) => {
    expect(await found(guardrails, 'red and blue')).toEqual([text, findings]);
  });

  it('names every reason of one guardrail, and quotes nothing', async () => {
    const strict = output('strict', { forbidden_patterns: ['s.cret', '\\d{4}'], required_patterns: ['^Dear'], max_length: 5 });
    const { findings } = await verdict([strict], 'a secret 4711');
    expect(findings[0]?.reasons).toHaveLength(4);
    expect(JSON.stringify(findings)).not.toMatch(/a secret|4711/);
  });
});

describe('a length is counted in characters', () => {
  const between = output('between', { max_length: 4, action: 'block' });
  it.each([
    ['abcd', 'abcd'],
    ['abcde', null],
    ['😀😀😀😀', '😀😀😀😀'],
    ['😀😀😀😀😀', null],
    ['', ''],
  ])('%j is let through as %j', async (text, passed) => expect((await verdict([between], text)).text).toBe(passed));

  const prompt = guardrail('prompt', 'prompt', { min_length: 2, max_length: 4 });
  it.each([
    ['a', true],
    ['ab', false],
    ['abcd', false],
    ['abcde', true],
    ['😀', true],
    ['😀😀', false],
    ['😀😀😀😀', false],
  ])('%j as a prompt is refused: %s', async (text, refused) => {
    expect((await judge.findRefusal([prompt], text, 'alice')) !== null).toBe(refused);
  });

  it.each([
    ['abcdef', 'abcd'],
    ['😀😀😀😀😀', '😀😀😀😀'],
  ])('and %j is cut to %j by one that redacts', async (text, cut) => {
    expect((await verdict([output('cuts', { max_length: 4, action: 'redact' })], text)).text).toBe(cut);
  });

  it('of nothing at all, if the limit is zero', async () => {
    const none = guardrail('none', 'prompt', { max_length: 0 });
    expect(await judge.findRefusal([none], 'a', 'alice')).not.toBeNull();
    expect(await judge.findRefusal([none], '', 'alice')).toBeNull();
  });
});

describe('text between tool calls', () => {
  const json = output('json', { must_be_valid_json: true, required_patterns: ['done'], action: 'block' });

  it('need not be complete or JSON, but the final answer must', async () => {
    expect((await verdict([json], 'I will look', false)).text).toBe('I will look');
    expect((await verdict([json], 'I will look')).text).toBeNull();
    expect((await verdict([json], '{"done": 1}')).text).toBe('{"done": 1}');
  });

  it.each([
    ['block', null],
    ['redact', 'my [REDACTED]'],
    ['warn', 'my secret'],
  ])('is held to forbidden patterns by one that should %s', async (action, passed) => {
    const hidden = output('hidden', { forbidden_patterns: ['secret'], action });
    expect((await verdict([hidden], 'my secret', false)).text).toBe(passed);
  });
});

describe('several guardrails judge a prompt', () => {
  const short = guardrail('short', 'prompt', { max_length: 5 });
  const noRed = guardrail('no red', 'prompt', { forbidden_patterns: ['red'] });
  const list = guardrail('list', 'request', { json_schema: { type: 'array' } });

  it.each<[string, PinnedGuardrail[], string | null]>([
    ['a reddish text', [short, noRed], 'The guardrail short refuses'],
    ['a reddish text', [noRed, short], 'The guardrail no red refuses'],
    ['red', [short, noRed], 'The guardrail no red refuses'],
    ['blue', [short, noRed], null],
    ['blue', [short, noRed, list], 'The guardrail list refuses'],
    ['[1]', [short, noRed, list], null],
    ['red', [output('o', { forbidden_patterns: ['red'], action: 'block' })], null],
  ])('%j: the first that objects refuses it', async (prompt, guardrails, message) => {
    const refusal = await judge.findRefusal(guardrails, prompt, 'alice');
    expect(refusal?.message.startsWith(message ?? 'nothing') ?? null).toBe(message === null ? null : true);
    expect(refusal?.code ?? null).toBe(message === null ? null : 'guardrail_blocked');
  });
});

describe('stretches that overlap or touch', () => {
  it.each([
    [['abc', 'bcd'], 'xabcdx', 'x[REDACTED]x'],
    [['ab', 'cd'], 'abcd', '[REDACTED]'],
    [['abcd', 'bc'], 'abcd!', '[REDACTED]!'],
    [['a', 'c'], 'abc', '[REDACTED]b[REDACTED]'],
    [['a*'], 'baab', 'b[REDACTED]b'],
  ])('%j in %j leave %j', async (patterns, text, left) => {
    expect((await verdict([redacts('r', ...patterns)], text)).text).toBe(left);
  });

  it('are redacted with personal data among them', async () => {
    const both = output('both', { forbidden_patterns: ['mail.*?@'], pii_detection: true, action: 'redact' });
    expect((await verdict([both], 'my mail me@example.com ok')).text).toBe('my [REDACTED] ok');
  });
});

it.each<[string, PinnedGuardrail[], boolean]>([
  ['none', [], false],
  ['one that warns', [warns('w', 'x')], false],
  ['one without an action', [output('o', {})], false],
  ['one that redacts', [redacts('r', 'x')], true],
  ['one that blocks, after one that warns', [warns('w', 'x'), blocks('b', 'x')], true],
  ['one for prompts that names an action', [guardrail('p', 'prompt', { action: 'block' })], false],
])('with %s, text is held back until it was judged: %s', (_, guardrails, held) => expect(holdsBack(guardrails)).toBe(held));

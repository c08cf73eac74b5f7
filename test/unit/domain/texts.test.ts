import { describe, expect, it } from 'vitest';
import { parseArguments } from '../../../src/domain/arguments.ts';
import { canonicalJson } from '../../../src/domain/canonical-json.ts';
import { TERSE_ANSWER, terse } from '../../../src/domain/caveman.ts';
import type { Definition } from '../../../src/domain/definition.ts';
import { buildInstructions } from '../../../src/domain/instructions.ts';
import { parseResponse } from '../../../src/domain/json-answers.ts';
import { parseTodos, toProgress } from '../../../src/domain/progress.ts';
import { withDeclared } from '../../../src/domain/tool-env.ts';
import { formatReminder, storable, toCallId } from '../../../src/domain/transcript.ts';
import { shorterAsTsv } from '../../../src/domain/tsv.ts';
import { isUuid, timeOfUuid, toFirstUuid } from '../../../src/domain/uuid.ts';

describe('arguments that a model wrote', () => {
  it.each(['', '  \n', '{}', '[]', 'null'])('are none in %j', (text) => {
    expect(parseArguments(text)).toEqual({ arguments: {} });
  });
  it.each(['[1]', '1', '"x"', 'true'])('are refused in %j', (text) => {
    expect(parseArguments(text)).toEqual({ refusal: 'The arguments must be a JSON object' });
  });
  it('are refused with the reason of the parser', () => {
    expect(parseArguments('{"a":1')).toEqual({
      refusal: expect.stringMatching(/^The arguments are not valid JSON \(.*position 6.*\); send one JSON object$/),
    });
    expect(parseArguments(' {"a": 1} ')).toEqual({ arguments: { a: 1 } });
  });
});

describe('canonical JSON', () => {
  it.each<[unknown, string]>([
    [{ b: 1, a: { d: 1, c: [2, 1] } }, '{"a":{"c":[2,1],"d":1},"b":1}'],
    [[{ b: 1, a: 2 }, null], '[{"a":2,"b":1},null]'],
    [{ c: 1, a: 1, b: 1 }, '{"a":1,"b":1,"c":1}'],
    ['x', '"x"'],
    [null, 'null'],
    [undefined, 'null'],
    [{ b: undefined, a: null }, '{"a":null}'],
  ])('of %j', (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });
});

describe('terse instructions', () => {
  it.each([
    ['Please read the whole file.', 'read whole file.'],
    ['You should simply answer in order to help.', 'answer to help.'],
    ['Go in order of size', 'Go in order of size'],
    ['You must always make sure that you check. Make sure you stop. Make sure to go.', 'check. stop. to go.'],
    ['It is important that a man and an ox rest. It is important to rest.', 'man and ox rest. rest.'],
    ['Of course this is very, really, quite just kindly actually basically certainly fine', 'this is , , fine'],
    ['Another theme, a then-clause', 'Another theme, then-clause'],
    ['one  two\t\tthree', 'one two three'],
    ['one \t\ntwo', 'one\ntwo'],
    ['one\n\n\n\ntwo\n\nthree', 'one\n\ntwo\n\nthree'],
    ['  the end  ', 'end'],
    ['Run `the  thing` on the host', 'Run `the  thing` on host'],
    ['Do:\n```sh\nthe  a\n\n\n\nan\n```\nthe rest', 'Do:\n```sh\nthe  a\n\n\n\nan\n```\nrest'],
    ['an `open quote\nand the end` of it', '`open quote\nand end` of it'],
  ])('%j', (text, expected) => {
    expect(terse(text)).toBe(expected);
  });
});

describe('the instructions of a run', () => {
  const definition = (more: Partial<Definition['settings']>, skills: Definition['skills'] = [], system_prompt = 'Be the best.') =>
    ({
      agent: { id: 'a', name: 'A', system_prompt },
      skills,
      settings: { output_format: 'markdown', caveman: false, ...more },
    }) as Definition;
  const JSON_ONLY = 'Give your final answer as one JSON value and nothing else: no code fence, no text before or after it.';

  it.each<[string, Definition, string]>([
    ['the persona', definition({}), 'Be the best.'],
    ['nothing', definition({}, [], '  '), ''],
    [
      'the persona, then each skill',
      definition({}, [
        { name: 'One', instructions: 'Do one.' },
        { name: 'Two', instructions: 'Do two.' },
      ]),
      'Be the best.\n\n## Skill: One\n\nDo one.\n\n## Skill: Two\n\nDo two.',
    ],
    ['the format', definition({ output_format: 'json' }), `Be the best.\n\n${JSON_ONLY}`],
    ['the format alone', definition({ output_format: 'json' }, [], ''), JSON_ONLY],
    ['fewer words', definition({ caveman: true }), `Be best.\n\n${TERSE_ANSWER}`],
  ])('are %s', (_, of, text) => {
    expect(buildInstructions(of)).toBe(text);
  });

  it('end with the schema of the answer, word for word', () => {
    const output_schema = { type: 'object', description: 'the sum of the two' };
    const text = buildInstructions({ ...definition({ caveman: true }), output_schema });
    expect(text).toContain('final answer as one JSON value');
    expect(text.endsWith(`valid against this JSON Schema:\n\n${JSON.stringify(output_schema)}`)).toBe(true);
  });

  it('ask for a short answer where few words are wanted', () => {
    expect(TERSE_ANSWER).toBe('Answer terse: fewest words that say all. No greeting, no filler, no repeat of question.');
  });
});

describe('a to-do list', () => {
  it.each<[unknown, unknown]>([
    [null, null],
    [{}, null],
    ['x', null],
    [[], []],
    [[{ title: 'a' }], [{ id: '1', title: 'a', status: 'not-started' }]],
    [[{ id: 7, title: 'a', status: 'completed' }], [{ id: '7', title: 'a', status: 'done' }]],
    [
      [
        { id: 'x', title: 'a', status: 'in-progress' },
        { title: 'b', status: 'done' },
      ],
      [
        { id: 'x', title: 'a', status: 'in-progress' },
        { id: '2', title: 'b', status: 'done' },
      ],
    ],
    [[{ title: 'a', status: 'later' }], null],
    [[{ title: 1 }], null],
    [[{ title: 'a' }, null], null],
  ])('%j', (value, todos) => {
    expect(parseTodos(value)).toEqual(todos);
  });

  it('is summed up by its step and its share', () => {
    const todo = (title: string, status: string) => ({ id: title, title, status });
    expect(toProgress([])).toEqual({ todos: [], current_step: '', percent_complete: 0 });
    const todos = [todo('a', 'done'), todo('b', 'in-progress'), todo('c', 'in-progress')];
    expect(toProgress(todos)).toEqual({ todos, current_step: 'b', percent_complete: 33 });
    expect(toProgress([todo('a', 'done'), todo('b', 'done')])).toMatchObject({ current_step: '', percent_complete: 100 });
  });
});

describe('the answer of a run', () => {
  it.each<[string, string, unknown]>([
    ['[1]', 'markdown', '[1]'],
    ['[1]', 'json', [1]],
    ['```json\n{"a":1}\n```', 'json', { a: 1 }],
    [' \n```\n"x"```  ', 'json', 'x'],
    ['```json   \n[1]\n\n```\n', 'json', [1]],
    ['so ```json\n[1]\n```', 'json', [1]],
    ['```json\n[1]\n``` so', 'json', [1]],
    ['```JSON5\n[1]\n```', 'json', [1]],
    ['```json [1]```', 'json', [1]],
    ['~~~\n{"a":1}\n~~~', 'json', { a: 1 }],
    ['First ```json\n{"a":1}\n```, then ```json\n{"a":2}\n```.', 'json', { response: expect.stringContaining('First') }],
    ['First ```json\n{"a":1}\n```, then ```json\n{ "a": 1 }\n```.', 'json', { a: 1 }],
    ['Like ```json\n{"a":0}\n```, so:\n{"a":1}', 'json', { response: expect.stringContaining('Like') }],
    ['Wait ```\n5\n``` seconds: {"a":1}', 'json', { a: 1 }],
    ['Wait ```\n5\n``` or ```\n6\n```', 'json', { response: expect.stringContaining('Wait') }],
    ['It is ```\n5\n```', 'json', 5],
    ['So ```json\n{"a":"```js\\nx```"}\n```', 'json', { a: '```js\nx```' }],
    ['```python\nprint({"a":0})\n``` prints {"a":1}', 'json', { a: 1 }],
    ['```python\nprint(1)\n``` gives ```\n{"a":1}\n```', 'json', { a: 1 }],
    ['The answer is {"a": "}{"}. Done.', 'json', { a: '}{' }],
    ['So {"a": "a quoted \\"}\\" brace"}.', 'json', { a: 'a quoted "}" brace' }],
    ['Let {x} be {"a": [1]}', 'json', { a: [1] }],
    ['Here it is:\n["a"]\nDone.', 'json', ['a']],
    ['See [1] and [2].', 'json', { response: 'See [1] and [2].' }],
    ['See {} for it', 'json', { response: 'See {} for it' }],
    ['Either {"a":1} or {"a":2}', 'json', { response: 'Either {"a":1} or {"a":2}' }],
    ['Cut {"a":1', 'json', { response: 'Cut {"a":1' }],
    ['Cut {"a": {"b":1}', 'json', { response: 'Cut {"a": {"b":1}' }],
    ['[{"a":1}, {"a":', 'json', { response: '[{"a":1}, {"a":' }],
    ['It is {\'a\': {"b": 1}}', 'json', { response: 'It is {\'a\': {"b": 1}}' }],
    ['In [0, 1) it is {"a":1}', 'json', { a: 1 }],
    ['{"a":"</think>{"}', 'json', { a: '</think>{' }],
    ['{"a":"```json\\n[1]\\n```"}', 'json', { a: '```json\n[1]\n```' }],
    ['<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{"a":1}', 'json', { a: 1 }],
    ['**Answer**\n\n```JSON\n{"a":1}\n```\n\nI hope this helps!', 'json', { a: 1 }],
    ['```json\n{"a":1}', 'json', { a: 1 }],
    ['Result:\n\n{\n  "a": 1\n}\n', 'json', { a: 1 }],
    ['\ufeff{"a":1}', 'json', { a: 1 }],
    ['<think>{"x":1}</think>\n{"a":1}', 'json', { a: 1 }],
    ['so {"x":1}</think>\n\n{"a":1}', 'json', { a: 1 }],
    ['plain', 'json', { response: 'plain' }],
    ['{"a\\u0000": ["\\ud800", "\\\\u0000"]}', 'json', { 'a\ufffd': ['\ufffd', '\\u0000'] }],
    [`${'['.repeat(101)}${']'.repeat(101)}`, 'json', { response: `${'['.repeat(101)}${']'.repeat(101)}` }],
  ])('%j as %s', (text, format, response) => {
    expect(parseResponse(text, format)).toEqual(response);
  });

  it('has a reminder of the goal, call ids and storable text', () => {
    expect(formatReminder('Win.')).toBe('Reminder: more than half of the allowed tool calls are used. The goal is: Win.');
    expect(formatReminder('x'.repeat(301))).toBe(formatReminder('x'.repeat(300)));
    expect(toCallId(3, 0)).toBe('3-1');
    expect(storable('a\u0000\ud83d😀')).toBe('a\ufffd\ufffd😀');
  });
});

describe('a table instead of JSON', () => {
  const rows = (...list: unknown[]) => JSON.stringify(list);
  const wide = { alpha: 1, beta: 2, gamma: 3 };

  it.each<[string, string, string]>([
    ['rows', rows(wide, wide), 'alpha\tbeta\tgamma\n1\t2\t3\n1\t2\t3'],
    ['the result of a wrapped tool', JSON.stringify({ result: [wide, wide] }), 'alpha\tbeta\tgamma\n1\t2\t3\n1\t2\t3'],
    ['a row without a field', rows(wide, { alpha: 4, gamma: null }), 'alpha\tbeta\tgamma\n1\t2\t3\n4\t\tnull'],
    ['texts', rows({ name: 'a\tb', other: 'c\nd\re' }, { name: 'e\\f', other: '' }), 'name\tother\na\\tb\tc\\nd\\re\ne\\\\f\t""'],
    [
      'texts that look like something else',
      rows({ name: '1', other: 'null' }, { name: 'true', other: 'false' }, { name: ' 2 ', other: true }),
      'name\tother\n"1"\t"null"\n"true"\t"false"\n" 2 "\ttrue',
    ],
    ['a blank text', rows({ name: '  ', other: 'x' }, { name: '  ', other: 'x' }), 'name\tother\n  \tx\n  \tx'],
  ])('%s', (_, json, table) => {
    expect(shorterAsTsv(json)).toBe(table);
  });

  it.each([
    ['text', 'plain'],
    ['broken JSON', '[{"alpha":1'],
    ['no rows', '[]'],
    ['empty rows', '[{},{}]'],
    ['rows that are not flat', rows({ a: { b: 1 } }, { a: { b: 1 } })],
    ['rows that are partly flat', rows(...Array(2).fill({ ...wide, delta: { inner: 'a text that is longer than its mark' } }))],
    ['rows and other things', rows(wide, 1)],
    ['rows that are lists', rows([1, 2], [1, 2])],
    ['an object of two fields', JSON.stringify({ result: [wide, wide], more: 1 })],
    ['an object of another field', JSON.stringify({ results: [wide, wide] })],
    ['a name with a tab', rows({ 'al\tpha': 1, beta: 2 }, { 'al\tpha': 1, beta: 2 })],
    ['a name with a line break', rows({ 'al\npha': 1, beta: 2 }, { 'al\npha': 1, beta: 2 })],
    ['a name with a carriage return', rows({ 'al\rpha': 1, beta: 2 }, { 'al\rpha': 1, beta: 2 })],
    ['what is not shorter as a table', rows(...Array.from({ length: 8 }, (_, index) => ({ [`c${index}`]: 1 })))],
    ['what is as long as a table', rows({ a: 'x' }, { b: 'x' }, { c: 1 }, { d: 1 }, { e: 1 }, { f: 1 })],
    ['rows without a common column', rows(...Array.from({ length: 40 }, (_, index) => ({ [`column${index}`]: 1 })))],
    ['null', 'null'],
    ['a number', '12'],
  ])('is not made of %s', (_, text) => {
    expect(shorterAsTsv(text)).toBe(text);
  });

  it('is made of JSON with space before it', () => {
    expect(shorterAsTsv(` \n${rows(wide, wide)}`)).toBe('alpha\tbeta\tgamma\n1\t2\t3\n1\t2\t3');
  });
});

describe('an id', () => {
  const ID = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
  it.each([ID, '00000000-0000-1000-8000-000000000000', 'ffffffff-ffff-8fff-bfff-ffffffffffff'])('is %s', (text) => {
    expect(isUuid(text)).toBe(true);
  });
  it.each([
    '',
    ID.toUpperCase(),
    ` ${ID}`,
    `${ID}0`,
    `x${ID}`,
    ID.replaceAll('-', ''),
    '00000000-0000-0000-8000-000000000000',
    '00000000-0000-9000-8000-000000000000',
    '00000000-0000-1000-7000-000000000000',
    '00000000-0000-1000-c000-000000000000',
    '0197a0c4-6b1e-7c3-9f57-0d2c5a1be001',
    '0197a0g4-6b1e-7c3a-9f57-0d2c5a1be001',
  ])('is not %j', (text) => {
    expect(isUuid(text)).toBe(false);
  });

  it('holds the time of its creation', () => {
    expect(timeOfUuid(ID)).toBe(0x0197a0c46b1e);
    expect(toFirstUuid(0x0197a0c46b1e + 0.9)).toBe('0197a0c4-6b1e-7000-8000-000000000000');
    expect([toFirstUuid(-1), toFirstUuid(1)]).toEqual([
      '00000000-0000-7000-8000-000000000000',
      '00000000-0001-7000-8000-000000000000',
    ]);
  });
});

it('adds the variables that a tool declares, and keeps what is mapped', () => {
  const config = { A: { token_name: 'a' }, C: { token_name: null } };
  expect(withDeclared(config, { A: 'first', B: 'second' })).toEqual({
    A: { token_name: 'a' },
    B: { token_name: null, description: 'second' },
    C: { token_name: null },
  });
});

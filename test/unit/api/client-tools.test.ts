import { describe, expect, it } from 'vitest';
import { formatCallId } from '../../../src/api/compat/call-ids.ts';
import { extractText, listToolOutputs, parseClientTools } from '../../../src/api/compat/openai/client-tools.ts';
import { parseEffort, parseParameters } from '../../../src/api/compat/openai/parameters.ts';
import { parseForcedFunctions } from '../../../src/api/compat/openai/tool-choice.ts';
import type { AppError } from '../../../src/domain/errors.ts';

const TASK = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
const OTHER = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be002';
const tool = (name: unknown, more: object = {}) => ({ type: 'function', function: { name, ...more } });
/** The value, or the code and the parameter of the refusal. */
function outcome<T>(work: () => T): T | [code: string, param: string | undefined] {
  try {
    return work();
  } catch (error) {
    const { code, errors } = error as AppError;
    return [code, errors?.[0]?.path];
  }
}

describe('the functions of a request', () => {
  it('are read in both spellings, as tools without effect here', () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const flat = { type: 'function', name: 'b', description: 'Second' };
    expect(parseClientTools([tool('a', { description: 'First', parameters }), flat], 'auto')).toEqual([
      { name: 'a', description: 'First', parameters, effect: 'read' },
      { name: 'b', description: 'Second', parameters: { type: 'object', properties: {} }, effect: 'read' },
    ]);
    for (const none of [undefined, null, []]) expect(parseClientTools(none, 'auto')).toBeUndefined();
    expect(parseClientTools([tool('a')], 'none')).toBeUndefined();
  });

  it.each<[string, Parameters<typeof parseClientTools>[0], string]>([
    ['129 of them', Array.from({ length: 129 }, (_, at) => tool(`f${at}`)), 'invalid_tools'],
    ['another type', [tool('a'), { type: 'web_search' }], 'unsupported_value'],
    ['two of one name', [tool('a'), tool('b'), tool('a')], 'invalid_tools'],
    ['no name', [tool(undefined)], 'invalid_tools'],
    ['a name with a dot', [tool('a.b')], 'invalid_tools'],
    ['a name of 65 letters', [tool('x'.repeat(65))], 'invalid_tools'],
    ['parameters that are a list', [tool('a', { parameters: [] })], 'invalid_tools'],
    ['parameters that are a text', [tool('a', { parameters: 'x' })], 'invalid_tools'],
    ['too long parameters', [tool('a', { parameters: { title: 'x'.repeat(64_000) } })], 'invalid_tools'],
  ])('are refused with %s', (_, tools, code) => {
    expect(outcome(() => parseClientTools(tools, 'auto'))).toEqual([code, 'tools']);
  });

  it('may be 128, with names of 64 characters', () => {
    const tools = Array.from({ length: 128 }, (_, at) => tool(`f${at}`.padEnd(64, '-')));
    expect(parseClientTools(tools, undefined)).toHaveLength(128);
  });
});

describe('a tool_choice', () => {
  const functions = parseClientTools([tool('first'), tool('second')], 'auto');
  it.each<[unknown, string[] | undefined]>([
    [undefined, undefined],
    [null, undefined],
    ['auto', undefined],
    ['none', undefined],
    ['required', ['first', 'second']],
    [{ type: 'function', function: { name: 'second' } }, ['second']],
    [{ type: 'function', name: 'second' }, ['second']],
  ])('%j forces %j', (choice, forced) => {
    expect(parseForcedFunctions(choice, functions)).toEqual(forced);
  });

  it.each<[unknown, typeof functions, string]>([
    ['any', functions, 'unsupported_value'],
    [{ type: 'allowed_tools' }, functions, 'unsupported_value'],
    [{ name: 'first' }, functions, 'unsupported_value'],
    [7, functions, 'unsupported_value'],
    ['required', undefined, 'unsupported_value'],
    [{ type: 'function', name: 'third' }, functions, 'invalid_value'],
    [{ type: 'function' }, functions, 'invalid_value'],
  ])('%j that cannot be honoured is refused', (choice, given, code) => {
    expect(outcome(() => parseForcedFunctions(choice, given))).toEqual([code, 'tool_choice']);
  });
});

describe('the results of a request', () => {
  const id = (call: string, task = TASK) => formatCallId(task, call);
  const result = (call: string, output: unknown = call) => ({ type: 'function_call_output', call_id: id(call), output });
  const message = (call: string, content: unknown = call) => ({ role: 'tool', tool_call_id: id(call), content });

  it('are those at its end, in both spellings', () => {
    const before = [{ role: 'user', content: 'x' }, result('1-0'), { role: 'assistant', content: 'y' }];
    expect(listToolOutputs([...before, result('2-0'), message('2-1')] as never)).toEqual([
      { id: id('2-0'), output: '2-0' },
      { id: id('2-1'), output: '2-1' },
    ]);
    expect(listToolOutputs([...before, result('2-0'), { role: 'user', content: 'z' }] as never)).toEqual([]);
    expect(listToolOutputs([])).toEqual([]);
  });

  it('are not results if the call is of somewhere else', () => {
    const foreign = { type: 'function_call_output', call_id: 'call_abc', output: 'x' };
    expect(listToolOutputs([foreign] as never)).toEqual([]);
    expect(listToolOutputs([result('2-0'), foreign] as never)).toEqual([]);
    for (const call of ['call_x_1-0', `call_${OTHER}`, `call_${OTHER}_1`, `call_${OTHER}_1-x`])
      expect(listToolOutputs([{ type: 'function_call_output', call_id: call, output: 'x' }] as never)).toEqual([]);
  });

  it('are texts, or the texts of their parts', () => {
    expect(['a', [{ text: 'a' }, { image: 1 }, { text: 'b' }], undefined, { text: 'a' }].map(extractText)).toEqual([
      'a',
      'ab',
      '',
      '',
    ]);
  });
});

describe('a parameter of a request', () => {
  const read = (body: Record<string, unknown>, strict = false) => {
    const found = outcome(() => parseParameters(body, { honoured: ['model', 'input'], strict }));
    return Array.isArray(found) ? found : { ...found, warnings: found.warnings.map(({ path }) => path) };
  };

  it('sets what a run has a setting for; of several for one setting the newest name counts', () => {
    const limits = { max_completion_tokens: 13, max_tokens: 7, max_output_tokens: 11 };
    expect(read({ model: 'm', temperature: 0, top_p: 0.5, stop: 'x', ...limits })).toEqual({
      call_settings: { temperature: 0, top_p: 0.5, stop: ['x'], max_output_tokens: 13 },
      warnings: [],
    });
    expect(read({ max_output_tokens: 11, max_tokens: 7 })).toMatchObject({ call_settings: { max_output_tokens: 11 } });
    expect(read({ temperature: 1, stop: null, top_p: undefined })).toEqual({ call_settings: { temperature: 1 }, warnings: [] });
    expect(read({ max_tokens: 0 })).toEqual({ warnings: ['max_tokens'] });
    expect(read({ temperature: 2.1 })).toEqual(['invalid_value', 'temperature']);
  });

  it('that has no effect is accepted with a warning, and silently if it asks for what happens anyway', () => {
    expect(read({ seed: 7, frequency_penalty: 0.5, unheard_of: 1, presence_penalty: 0, metadata: {}, store: true })).toEqual({
      warnings: ['seed', 'frequency_penalty', 'unheard_of'],
    });
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`unheard_${at}`, 1]));
    expect(read(many)).toMatchObject({ warnings: expect.objectContaining({ length: 20 }) });
  });

  it.each<[string, unknown, unknown]>([
    ['n', 2, 1],
    ['logprobs', true, false],
    ['functions', [{}], []],
    ['modalities', ['audio'], ['text']],
  ])('%s is refused if the reply would not be what the client reads', (param, refused, usual) => {
    expect(read({ [param]: refused })).toEqual(['unsupported_value', param]);
    for (const strict of [false, true]) expect(read({ [param]: usual }, strict)).toEqual({ warnings: [] });
  });

  it('is refused by strict handling unless it changes nothing', () => {
    expect(read({ temperature: 0.5 }, true)).toEqual(['unsupported_value', 'temperature']);
    expect(read({ unheard_of: 1 }, true)).toEqual(['unknown_parameter', 'unheard_of']);
    expect(read({ temperature: 1, user: 'me', seed: 7, store: false, max_tokens: null }, true)).toEqual({ warnings: [] });
  });

  it('that asks for an effort gets it, with a warning if no model is known to take it', () => {
    const effort = (level: string | null | undefined, strict = false) =>
      outcome(() => {
        const { reasoning_effort, warnings } = parseEffort(level, 'reasoning.effort', strict);
        return { reasoning_effort, warned: warnings.length };
      });
    for (const level of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
      expect(effort(level, true)).toEqual({ reasoning_effort: level, warned: 0 });
    for (const none of [null, undefined]) expect(effort(none, true)).toEqual({ reasoning_effort: undefined, warned: 0 });
    expect(effort('huge')).toEqual({ reasoning_effort: 'huge', warned: 1 });
    expect([effort('huge', true), effort('very high')]).toEqual([
      ['invalid_value', 'reasoning.effort'],
      ['invalid_value', 'reasoning.effort'],
    ]);
  });
});

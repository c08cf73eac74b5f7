import { describe, expect, it } from 'vitest';
import { parseOutputSchema } from '../../../src/api/compat/openai/formats.ts';
import { parseMessages, parsePriorMessages } from '../../../src/api/compat/openai/messages.ts';
import type { AppError } from '../../../src/domain/errors.ts';

const PIXEL = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
const PAGE = { type: 'input_file', filename: 'a.pdf', file_data: 'AAAA' };
/** The messages as text and the places of their files, or the code and the parameter of the refusal. */
function read(items: unknown[], parse: typeof parseMessages = parseMessages) {
  try {
    const { text_messages, files } = parse(items as never, 'input');
    return { messages: text_messages, places: files.map(({ path }) => path) };
  } catch (error) {
    const { code, errors } = error as AppError;
    return [code, errors?.[0]?.path];
  }
}

describe('the messages of a request', () => {
  it('are read as text in every form, with their files in order', () => {
    const items = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'One' }, PIXEL, { type: 'input_text', text: 'two' }] },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      { role: 'assistant', content: 'Wait.', tool_calls: [{ function: { name: 'f', arguments: '{"a":1}' } }, {}] },
      { type: 'function_call', call_id: 'c', name: 'g', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'text', text: 'done' }] },
      { role: 'user', content: [{ type: 'text', text: 'And these?' }, PAGE, PIXEL] },
    ];
    expect(read(items)).toEqual({
      messages: [
        { role: 'system', text: 'Be brief.' },
        { role: 'user', text: 'Onetwo', files: 1 },
        { role: 'assistant', text: 'No.' },
        { role: 'assistant', text: 'Wait.\n[called f with {"a":1}]\n[called undefined with undefined]' },
        { role: 'assistant', text: '[called g with {}]' },
        { role: 'tool', text: 'done' },
        { role: 'user', text: 'And these?', files: 2 },
      ],
      places: ['input.1.content.1', 'input.6.content.1', 'input.6.content.2'],
    });
  });

  it('end with one that has a text, or files that are named instead', () => {
    const last = (...content: unknown[]) =>
      read([
        { role: 'user', content: 'x' },
        { role: 'user', content },
      ]);
    expect(last(PIXEL)).toMatchObject({ messages: [{ text: 'x' }, { text: '[see the file]', files: 1 }] });
    expect(last(PIXEL, PAGE)).toMatchObject({ messages: [{ text: 'x' }, { text: '[see the files]', files: 2 }] });
    expect([last(), last({ type: 'text', text: ' \n' })]).toEqual([
      ['unsupported_content', 'input.1'],
      ['unsupported_content', 'input.1'],
    ]);
    expect(read([{ role: 'user', content: [] }], parsePriorMessages)).toEqual({
      messages: [{ role: 'user', text: '' }],
      places: [],
    });
  });

  it.each(['system', 'developer', 'assistant', 'tool'])('have files of the user alone, and none of %s', (role) => {
    const items = [
      { role, content: [{ type: 'text', text: 'x' }, PAGE] },
      { role: 'user', content: 'y' },
    ];
    expect(read(items)).toEqual(['unsupported_content', 'input.0.content.1']);
  });

  it('are refused if nobody said them, or with parts of another kind', () => {
    expect(read([{ type: 'reasoning', summary: [] }])).toEqual(['unsupported_content', 'input.0']);
    expect(read([{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }])).toEqual([
      ...['unsupported_content', 'input.0.content.0'],
    ]);
  });
});

describe('the format of an answer', () => {
  const SCHEMA = { type: 'object', properties: { a: { type: 'integer' } } };
  const parse = async (format: object | null | undefined, fault: string | null = null) => {
    const judge = { findSchemaError: async () => fault };
    const order = { param: 'text.format', format: format as never, caller: { key: 'local:ann' } as never };
    return parseOutputSchema({ judge }, order).catch(({ code, errors }: AppError) => [code, errors?.[0]?.path]);
  };

  it('is any text, any object, or what a schema says, in both spellings', async () => {
    for (const any of [undefined, null, { type: 'text' }]) expect(await parse(any)).toBeUndefined();
    expect(await parse({ type: 'json_object' })).toEqual({ type: 'object' });
    expect(await parse({ type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA } })).toEqual(SCHEMA);
    expect(await parse({ type: 'json_schema', name: 'n', schema: SCHEMA })).toEqual(SCHEMA);
  });

  it.each<[string, object, string, string | null]>([
    ['of another type', { type: 'grammar' }, 'unsupported_value', null],
    ['without its schema', { type: 'json_schema', name: 'n' }, 'invalid_json_schema', null],
    ['with a list', { type: 'json_schema', schema: { type: 'array' } }, 'invalid_json_schema', null],
    ['with a schema of no type', { type: 'json_schema', schema: {} }, 'invalid_json_schema', null],
    ['with a schema that cannot be applied', { type: 'json_schema', schema: SCHEMA }, 'invalid_json_schema', 'A fault'],
  ])('%s is refused', async (_, format, code, fault) => {
    expect(await parse(format, fault)).toEqual([code, 'text.format']);
  });
});

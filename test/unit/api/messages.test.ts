import { describe, expect, it } from 'vitest';
import { parseFilePart, withFilePaths } from '../../../src/api/compat/openai/files.ts';
import { parseOutputSchema } from '../../../src/api/compat/openai/formats.ts';
import { parseMessages, parsePriorMessages } from '../../../src/api/compat/openai/messages.ts';
import { type AppError, conflict, unprocessable } from '../../../src/domain/errors.ts';

const PIXEL = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
const FILE_ID = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
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

describe('a file of a message', () => {
  const data = (type: string) => `data:${type};base64,AAAA`;
  it.each<[string, Record<string, unknown>, object]>([
    ['an image as an object', PIXEL, { name: 'image.png' }],
    ['an image as a text', { type: 'image_url', image_url: data('image/png') }, { name: 'image.png' }],
    ['an upload', { type: 'input_image', file_id: FILE_ID }, { id: FILE_ID }],
    [
      'a list of images',
      { type: 'input_image', image_url: [data('image/png')] },
      { message: /^An image is a data URL in base64/ },
    ],
    ['no image', { type: 'input_image' }, { code: 'unsupported_value', message: /^An image is a data URL in base64/ }],
    ['an image of no type', { type: 'input_image', image_url: data('') }, { message: /, not none$/ }],
    ['an image of half a type', { type: 'input_image', image_url: data('image/') }, { message: /, not image\/$/ }],
    ['a text as an image', { type: 'input_image', image_url: data('text/plain') }, { message: /, not text\/plain$/ }],
    ['a file without a name', { type: 'input_file', file_data: 'AAAA' }, { name: 'file' }],
    ['a file with a name', PAGE, { name: 'a.pdf' }],
  ])('may be %s', (_, part, { message, ...expected }: { message?: RegExp }) => {
    const read = () => {
      try {
        return parseFilePart(part, 'input.0');
      } catch (error) {
        return error;
      }
    };
    expect(read()).toMatchObject({ ...expected, ...(message ? { message: expect.stringMatching(message) } : {}) });
  });

  it('is refused at its place in the request, and what is wrong elsewhere at its own', async () => {
    const files = ['input.0.content.1', 'input.2.content.0'].map((path) => ({ path, file: { id: FILE_ID } }));
    const pathsOf = (work: () => Error) =>
      withFilePaths(files, async () => Promise.reject(work())).catch(({ kind, errors }: AppError) => [
        kind,
        ...(errors ?? []).map(({ path }) => path),
      ]);
    const refuse = (...paths: string[]) => unprocessable(paths.map((path) => ({ path, message: 'x' })));
    expect(await pathsOf(() => refuse('attachments.0', 'attachments.1.name', 'attachments'))).toEqual([
      ...['invalid', 'input.0.content.1', 'input.2.content.0', 'input.2.content.0'],
    ]);
    expect(await pathsOf(() => refuse('prompt'))).toEqual(['unprocessable', 'prompt']);
    expect(await pathsOf(() => conflict('x'))).toEqual(['conflict']);
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

import multipart from '@fastify/multipart';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { refuseInOurWords } from '../../../src/api/http/problems.ts';
import { parseUpload } from '../../../src/api/http/uploads.ts';

const FIELD_BYTES = 20;

/** Sends a form with these parts, each with its headers. */
async function send(parts: [name: string, value: string, headers?: string][]) {
  const http = Fastify();
  refuseInOurWords(http);
  await http.register(multipart, { limits: { fieldSize: FIELD_BYTES } });
  http.post('/', async (request) => {
    const { filename, content, fields } = await parseUpload(request);
    return { filename, content: content.toString(), fields };
  });
  const form = parts.map(
    ([name, value, more = '']) => `--b\r\nContent-Disposition: form-data; name=${name}${more}\r\n\r\n${value}\r\n`,
  );
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  const answer = await http.inject({ method: 'POST', url: '/', headers, payload: `${form.join('')}--b--\r\n` });
  return answer.json();
}

const FILE: [string, string, string] = ['file', 'Hello', '; filename=a.txt\r\nContent-Type: text/plain'];

it.each<[string, Parameters<typeof send>[0], object]>([
  ['a file and fields', [['name', 'x'], FILE], { filename: 'a.txt', content: 'Hello', fields: { name: 'x' } }],
  ['a field as JSON', [['tags', '{"a":1}', '\r\nContent-Type: application/json'], FILE], { fields: { tags: '{"a":1}' } }],
  ['no file', [['name', 'x']], { status: 422, code: 'no_file' }],
  ['a file as text', [['file', 'x']], { status: 422, code: 'no_file' }],
  ['a field twice', [['name', 'x'], ['name', 'y'], FILE], { status: 422, errors: [{ path: 'name' }] }],
  [
    'a long field',
    [['name', 'x'.repeat(FIELD_BYTES + 1)], FILE],
    { status: 413, detail: '`name` is larger than a form field may be' },
  ],
])('a form with %s', async (_, parts, expected) => {
  expect(await send(parts)).toMatchObject(expected);
});

it('a form whose connection has ended is refused, because nothing more arrives', async () => {
  const request = { isMultipart: () => true, raw: { destroyed: true }, headers: {} };
  await expect(parseUpload(request as never)).rejects.toMatchObject({
    code: 'malformed_body',
    message: expect.stringMatching(/^The connection ended/),
  });
});

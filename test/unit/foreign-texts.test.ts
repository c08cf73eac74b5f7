import { zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { parseCommentedJson } from '../../src/domain/commented-json.ts';
import { readDocument } from '../../src/parsers/child/documents.ts';
import { listSchemaErrors } from '../../src/parsers/child/schema.ts';

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));
const wide = (text: string) => Buffer.from(text, 'utf16le');
const swapped = (text: string) => wide(text).swap16();
const read = (content: Uint8Array, reader: 'text' | 'html' | 'json' = 'text') =>
  readDocument({ reader, content, longest: 1_000 }).then(({ text }) => text);

describe('a text file', () => {
  it.each([
    ['UTF-8', Buffer.from('Größe'), 'text', 'Größe'],
    ['UTF-8 with a mark', Buffer.from('\uFEFFGröße'), 'text', 'Größe'],
    ['UTF-16 with a mark', wide('\uFEFFGröße 大'), 'text', 'Größe 大'],
    ['UTF-16 in the other order', swapped('\uFEFFGröße 大'), 'text', 'Größe 大'],
    ['JSON in UTF-16', wide('\uFEFF{"a": "ö"}'), 'json', '{"a": "ö"}'],
    ['HTML in Latin-1', bytes('<meta charset="iso-8859-1"><p>Gr', [0xf6], [0xdf], 'e'), 'html', 'Größe'],
    ['HTML in Windows-1251', bytes("<meta charset='windows-1251'><p>", [0xcc, 0xe8, 0xf0]), 'html', 'Мир'],
    ['HTML in GBK', bytes('<meta charset=gbk><p>', [0xc4, 0xe3, 0xba, 0xc3]), 'html', '你好'],
    [
      'HTML in Shift_JIS by http-equiv',
      bytes('<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS"><p>', [0x93, 0xfa, 0x96, 0x7b]),
      'html',
      '日本',
    ],
    ['HTML in ISO-2022-JP', bytes('<meta charset="iso-2022-jp"><p>', '\x1b$BF|K\\\x1b(B'), 'html', '日本'],
    ['HTML that is UTF-8 and declares another', Buffer.from('<meta charset="iso-8859-1"><p>Größe'), 'html', 'Größe'],
    ['XML in Latin-2', bytes('<?xml version="1.0" encoding="iso-8859-2"?><a>', [0xb3], '</a>'), 'html', 'ł'],
    ['text with an XML declaration', bytes('<?xml version="1.0" encoding="windows-1252"?>', [0x80]), 'text', '€'],
    ['XML in UTF-16 without a mark', wide('<?xml version="1.0"?><a>ö</a>'), 'html', 'ö'],
  ] as const)('in %s is read', async (_, content, reader, text) => {
    expect(await read(content, reader)).toContain(text);
  });

  it.each([
    ['Latin-1 that nothing declares', bytes('Gr', [0xf6]), 'text', /not UTF-8 text, and does not declare/],
    ['Latin-1 whose page declares other things', bytes('<meta name="a"><p>', [0xf6]), 'html', /does not declare another/],
    ['Latin-1 whose character set has no value', bytes('<meta charset><p>', [0xf6]), 'html', /does not declare another/],
    ['Latin-1 whose character set is empty', bytes('<meta charset=""><p>', [0xf6]), 'html', /does not declare another/],
    ['an unknown character set', bytes('<meta charset="x-none"><p>', [0xf6]), 'html', /cannot be read as x-none/],
    ['another character set than declared', bytes('<meta charset="gbk"><p>', [0xff, 0xff]), 'html', /cannot be read as gbk/],
    ['UTF-16 without a mark', wide('hello world'), 'text', /looks like UTF-16 without a byte order mark/],
    ['UTF-32', bytes([0xff, 0xfe, 0, 0], [0x61, 0, 0, 0]), 'text', /cannot be read as utf-32/],
    ['broken UTF-16', bytes([0xff, 0xfe], [0x00, 0xd8, 0x41]), 'text', /cannot be read as utf-16le/],
  ] as const)('in %s is refused with a sentence', async (_, content, reader, sentence) => {
    await expect(read(content, reader)).rejects.toThrow(sentence);
  });
});

describe('a Word document', () => {
  const part = (text: string) => Buffer.from(text);
  const paragraph = (text: string) =>
    part(
      `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>${text}</w:t></w:r></w:p></w:body></w:document>`,
    );
  const TYPES = {
    '[Content_Types].xml': part(
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
    ),
    '_rels/.rels': part(
      '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
    ),
  };
  /** Has each entry of an archive declare this size. */
  const declaring = (size: number, archive: Uint8Array) => {
    const content = Buffer.from(archive);
    for (let at = content.indexOf('PK\u0001\u0002'); at >= 0; at = content.indexOf('PK\u0001\u0002', at + 1))
      content.writeUInt32LE(size, at + 24);
    return content;
  };
  const readWord = (content: Uint8Array, longest = 1_000) => readDocument({ reader: 'docx', content, longest });

  it('is read without its pictures, which may be large', async () => {
    const whole = zipSync({ ...TYPES, 'word/document.xml': paragraph('Größe') });
    expect(await readWord(whole)).toEqual({ text: 'Größe', length: 5 });
    expect(await readWord(whole, 4)).toEqual({ text: '', length: 5 });
    const picture = declaring(200 * 1024 ** 2, zipSync({ 'word/media/a.png': part('png') }));
    await expect(readWord(picture)).rejects.toThrow('it holds no Word document');
  });

  it.each<[string, Uint8Array, string]>([
    ['is another archive', zipSync({ 'content.xml': part('<a/>') }), 'it holds no Word document'],
    ['is too large unpacked', declaring(60 * 1024 ** 2, zipSync({ ...TYPES })), 'it unpacks to more than can be read'],
    [
      'is damaged within',
      zipSync({ ...TYPES, 'word/document.xml': part('not XML') }),
      'it is damaged; save it again and upload it',
    ],
  ])('that %s is refused with a sentence', async (_what, content, sentence) => {
    await expect(readWord(content)).rejects.toThrow(sentence);
  });
});

describe('JSON that a person wrote', () => {
  it.each([
    ['{"a": 1, // one\n "b": [1, 2,],\n}', { a: 1, b: [1, 2] }],
    ['/* first */ {"a": "// not /* a comment */, ]"}', { a: '// not /* a comment */, ]' }],
    ['\uFEFF{"a": "\\"// x,}"}', { a: '"// x,}' }],
    ['{"a": 1,\n // last\n}', { a: 1 }],
    ['[1, /* x */ ]', [1]],
    ['{"a/b": "c", /* , */ // ,\n "d": 1 /* } */ ,}', { 'a/b': 'c', d: 1 }],
  ])('%j is read', (text, value) => {
    expect(parseCommentedJson(text)).toEqual(value);
  });

  it('keeps long integers as they are written', () => {
    expect(JSON.stringify(parseCommentedJson('{"id": 12345678901234567890,}'))).toBe('{"id":12345678901234567890}');
  });

  // With a pattern that begins again at each quote or comment, each of these takes hours.
  it.each([
    ['an open text', `"${'\\"'.repeat(2_000_000)}`],
    ['open comments', '/* '.repeat(2_000_000)],
    ['commas', `[1${' ,'.repeat(1_000_000)}`],
  ])('%s without an end is refused in one pass', (_, text) => {
    expect(() => parseCommentedJson(text)).toThrow(SyntaxError);
  });

  it('may have a long text', () => {
    expect(parseCommentedJson(`{"a": "${'x'.repeat(8_000_000)}",}`)).toEqual({ a: 'x'.repeat(8_000_000) });
  });

  it.each(['{"a": 1 // no end', '[1,,2]', '{a: 1}', '/* open'])('%s is refused', (text) => {
    expect(() => parseCommentedJson(text)).toThrow(SyntaxError);
  });
});

describe('a schema of a server', () => {
  it.each([
    '^[\\w.-]+$',
    '^(?!.*\\.\\.)[A-Za-z0-9_\\-\\.]+$',
    '^[A-Za-z0-9\\-]+\\:$',
    '\\p{L}+',
    '^[\\w-\\.]+@([\\w-]+\\.)+[\\w-]{2,4}$',
    '(?i)^abc$',
    '(?P<name>a)',
    '\\A[a-z]++\\z',
    '^\\-$',
    '{x}',
  ])('may have the pattern %s', (pattern) => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern } }, patternProperties: { [pattern]: {} } };
    expect(listSchemaErrors([schema])).toEqual([null]);
  });

  it.each([{ type: 'nothing' }, { properties: { a: { $ref: '#/nowhere' } } }, { anyOf: 5 }])('has to be one: %o', (schema) => {
    expect(listSchemaErrors([schema])).toEqual([expect.any(String)]);
  });
});

import { describe, expect, it } from 'vitest';
import { redactor } from '../../../src/domain/redaction.ts';
import { fillTokens, isTemplate, listTokenNames, mapTexts, namesSecret } from '../../../src/domain/secrets.ts';
import { isOrdinary, secretSpellings } from '../../../src/domain/spellings.ts';

/** Each text of a configuration: where it is, and whether it must not be shown. */
function textsOf(config: unknown): Record<string, boolean> {
  const texts: Record<string, boolean> = {};
  mapTexts(config, (text, { path, secret }) => {
    texts[path] = secret;
    return text;
  });
  return texts;
}

describe('a text of a configuration', () => {
  it.each([
    'token',
    'apiKey',
    'client_secret',
    'Password',
    'passwd',
    'credentials',
    'Authorization',
    'Set-Cookie',
    'X-Signature',
  ])('is secret under the name %s, and so is all below it', (name) => {
    expect(namesSecret(name)).toBe(true);
    expect(textsOf({ [name]: 'x', other: 'y' })).toEqual({ [name]: true, other: false });
    expect(textsOf({ [name]: { deep: ['x'] } })).toEqual({ [`${name}.deep.0`]: true });
  });

  it.each(['name', 'url', 'command', 'host', 'pass', 'auth'])('is not secret under the name %s', (name) => {
    expect(namesSecret(name)).toBe(false);
    expect(textsOf({ [name]: 'x' })).toEqual({ [name]: false });
  });

  it('is secret among variables and headers, whatever its name', () => {
    expect(textsOf({ env: { A: 'x' }, headers: { B: 'y' }, environment: { C: 'z' } })).toEqual({
      ...{ 'env.A': true, 'headers.B': true, 'environment.C': false },
    });
  });

  it.each([
    'postgres://me:pw@db.example',
    'HTTPS://me:pw@x.example/y',
    'h2+ssh.x-1://u:p@h',
    'https://x.example/?a=1&api_key=2',
    'https://x.example/?my-token-a=2',
    'https://x.example/?xsecret=',
    'https://x.example/?password=',
    'https://x.example/?X-Signature=2',
    '--token=x',
    '-key=x',
    '--my-secret-a=x',
    '--password=x',
    ...['ghp_', 'gho_', 'github_pat_', 'glpat-', 'sk-', 'xoxb-', 'AKIA', 'eyJ'].map((start) => `${start}12345678`),
    'sk-a.b-c_d9',
  ])('is secret as %s', (text) => {
    expect(textsOf({ x: text })).toEqual({ x: true });
    expect(textsOf([text])).toEqual({ 0: true });
  });

  it.each([
    'https://x.example/a:b@c',
    'https://me@x.example',
    'https://:@x.example',
    'see https://me:pw@x.example',
    'see https://x.example/?api_key=2',
    'https://x.example/key=1',
    'https://x.example/?q=a#key=',
    'https://x.example/?q=key',
    '9x://u:p@h',
    '--token=',
    '--verbose=x',
    '---token',
    'x --token=x',
    'sk-1234567',
    'my sk-12345678',
    'ghp-12345678',
    'AKIB12345678',
  ])('is not secret as %s', (text) => {
    expect(textsOf({ x: text })).toEqual({ x: false });
  });

  it.each(['--token', '-k-key', '--API-KEY', '--my-secret-x', '--password'])('is secret after the flag %s', (flag) => {
    expect(textsOf({ args: ['run', flag, 'x', 'y'] })).toEqual({
      ...{ 'args.0': false, 'args.1': false, 'args.2': true, 'args.3': false },
    });
  });

  it.each(['token', 'x--token', '--verbose', '--token=x y', '--to ken', 1])('is not secret after %s', (before) => {
    expect(textsOf({ args: [before, 'x'] })).toMatchObject({ 'args.1': false });
  });

  it('is changed in its place, and nothing else is', () => {
    const config = { a: 'x', b: [1, null, 'y', { c: true, d: undefined }] };
    expect(mapTexts(config, (text, { path }) => `${path}:${text}`)).toEqual({
      a: 'a:x',
      b: [1, null, 'b.2:y', { c: true, d: undefined }],
    });
    expect(mapTexts('x', (text, { path }) => path + text)).toBe('x');
  });
});

describe('a name of a stored token', () => {
  it('is found anywhere, once', () => {
    expect(listTokenNames({ a: 'Bearer {{token:x}}', b: ['{{ token:y.z-1_ }}{{token:x}}'], c: '{{token:}}{{tok:z}}' })).toEqual([
      'x',
      'y.z-1_',
    ]);
  });

  it('is replaced by its value, if there is one', () => {
    const values = new Map([
      ['x', '1'],
      ['empty', ''],
    ]);
    expect(fillTokens('{{token:x}}-{{ token:x }}-{{token:y}}-{{token:empty}}', values)).toBe('1-1-{{token:y}}-');
  });

  it.each([
    ['{{token:x}}', true],
    ['{{  token:x  }}', true],
    ['Bearer {{token:x.y-z_1}}', true],
    ['Bearer  {{token:x}}', false],
    ['Bearer 1 {{token:x}}', false],
    ['{{token:x}} ', false],
    ['a{{token:x}}', false],
    ['{{token:}}', false],
    ['{{token:x y}}', false],
    ['{{token:x}}{{token:y}}', false],
  ])('is all of %j: %s', (text, all) => {
    expect(isTemplate(text)).toBe(all);
  });
});

describe('the spellings of a secret', () => {
  const spelled = (value: string) => secretSpellings(value);

  it('are none of a value shorter than six characters, or of one that is short without its space', () => {
    expect(spelled('12345')).toEqual([]);
    expect(spelled('123456')).toContain('123456');
    expect(spelled('  123  ')).not.toContain('123');
    expect(spelled('  123456  ')).toEqual(expect.arrayContaining(['  123456  ', '123456']));
  });

  it('are those that programs write', () => {
    const secret = `a"b'c\\d<e>&f é!(*)~ %😀`;
    const url = encodeURIComponent(secret);
    const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
    const json = inJson(secret);
    const ascii = json.replaceAll('é', '\\u00e9').replaceAll('😀', '\\ud83d\\ude00');
    const html = secret
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&#39;');
    const strict = url
      .replaceAll('!', '%21')
      .replaceAll("'", '%27')
      .replaceAll('(', '%28')
      .replaceAll(')', '%29')
      .replaceAll('*', '%2A');
    const lower = (text: string) => text.replaceAll(/%../g, (found) => found.toLowerCase());
    const base64 = Buffer.from(secret).toString('base64');
    const hex = Buffer.from(secret).toString('hex');
    for (const spelling of [
      ...[secret, json, inJson(json), inJson(inJson(json)), inJson(inJson(inJson(json))), inJson(inJson(inJson(inJson(json))))],
      ...[ascii, inJson(ascii), inJson(inJson(inJson(inJson(ascii))))],
      secret.replaceAll("'", "\\'"),
      ...[html, html.replaceAll('&#39;', '&#x27;'), html.replaceAll('&quot;', '&#34;')],
      ...[url, lower(url), strict, lower(strict), url.replaceAll('%20', '+'), encodeURI(secret), lower(encodeURI(secret))],
      ...[hex, hex.toUpperCase(), base64, base64.replace(/=+$/, ''), encodeURIComponent(base64)],
      base64.replaceAll('+', '-').replaceAll('/', '_'),
    ])
      expect(spelled(secret)).toContain(spelling);
    expect(spelled(secret)).not.toContain(inJson(inJson(inJson(inJson(inJson(json))))));
    expect(new Set(spelled(secret)).size).toBe(spelled(secret).length);
  });

  it.each([0, 1, 2, 3, 4, 5])('are found in base64 with %i bytes before it, and nothing around it is taken', (before) => {
    for (const secret of ['secret-one', 'secret-three', 'secret-eleven', '?>?>?>~~~ÿ']) {
      const pad = 'x'.repeat(before);
      const longest = spelled(secret)
        .filter((spelling) => Buffer.from(`${pad}${secret}yyyyyy`).toString('base64').includes(spelling))
        .sort((a, b) => b.length - a.length)[0];
      // Six bits are a character; two at each end may share one with their neighbours.
      expect(longest?.length).toBeGreaterThanOrEqual(Math.floor((Buffer.byteLength(secret) * 8) / 6) - 1);
      const otherwise = Buffer.from(`${'z'.repeat(before)}${secret}wwwwww`).toString('base64');
      expect(otherwise).toContain(longest);
    }
  });

  it.each<[string, string[], string[]]>([
    ['Bearer abcdef123', ['abcdef123'], []],
    ['Bearer: abcdef123', ['abcdef123'], []],
    ['X-Key=abcdef123', ['abcdef123'], []],
    ['Bearer abc def123', [], ['def123', 'abc def123']],
    ['Bearer abcdef1 def1234', [], ['abcdef1', 'def1234']],
    ['see https://x.example/?token=abcdef1', ['https://x.example/?token=abcdef1'], ['abcdef1']],
    [
      `BASIC ${Buffer.from('me:hunter22:x').toString('base64')}`,
      ['hunter22:x', 'me:hunter22:x', Buffer.from('me:hunter22:x').toString('base64')],
      [],
    ],
    ['postgres://me:p%40ssword@db.example.com/name', ['p%40ssword', 'p@ssword'], ['db.example.com']],
    ['postgres://me:p%ssword@db.example.com/name', ['p%ssword'], []],
    ['https://x.example/?token=abcdef1&page=abcdef2', ['abcdef1'], ['abcdef2']],
    ['https://[broken?token=abcdef1', [], ['abcdef1']],
    [
      '{"client_secret": "abcdef1", "name": "abcdef2", "key": 1234567, "a": {"api_key": "abcdef3"}}',
      ['abcdef1', 'abcdef3'],
      ['abcdef2', '1234567'],
    ],
    ['{"client_secret": "abcdef1"', [], ['abcdef1']],
    [
      'first-line-of-16\nsecond\n  third-line-of-16  \nfourth-----line-of',
      ['first-line-of-16', 'third-line-of-16', 'fourth-----line-of'],
      ['second'],
    ],
    [
      '-----BEGIN A KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END A KEY-----',
      ['MIIEvQIBADANBgkqhkiG9w0'],
      ['-----BEGIN A KEY-----'],
    ],
    ['first-line-of-15', [], ['first-line-of']],
    ['session=0123456789; path=/somewhere; id=1234567', ['0123456789', '/somewhere'], ['1234567']],
    ['  {"token": "abcdef1"}', ['abcdef1'], []],
  ])('of %j are those of its parts', (value, parts, others) => {
    expect(spelled(value)).toEqual(expect.arrayContaining(parts));
    for (const other of others) if (other !== value) expect(spelled(value)).not.toContain(other);
  });
});

describe('an ordinary value', () => {
  it.each([
    '',
    '2024',
    '2024-01-01',
    'production',
    'a'.repeat(15),
    'text/html; charset=utf-8',
    'https://x.example/v1',
    'http://x.example/',
    '/usr/local/bin',
  ])('is %j', (text) => {
    expect(isOrdinary(text)).toBe(true);
  });
  it.each([
    '12345',
    'a'.repeat(16),
    'a1',
    '2024-a',
    'short averyveryverylongword',
    'https://x.example/?a=1',
    'http://:b@c',
    'ftp2://x',
    'xhttps://1a',
    'utf-88',
  ])('is not %j', (text) => {
    expect(isOrdinary(text)).toBe(false);
  });
});

describe('a redactor', () => {
  it('counts its own secrets, each once, and not those of its base', () => {
    const base = redactor(['base-secret']);
    const own = redactor(['one-secret', 'one-secret', ''], base);
    expect([base.size(), own.size()]).toEqual([1, 1]);
    own.know('two-secret', 'one-secret', '');
    expect(own.size()).toBe(2);
    expect(own.text('base-secret one-secret two-secret')).toBe('[redacted] [redacted] [redacted]');
    base.know('late-secret');
    expect(own.text('a late-secret')).toBe('a [redacted]');
    expect(own.indexes()).toHaveLength(2);
    expect(redactor().indexes()).toEqual([]);
  });

  it('leaves texts alone when it knows nothing', () => {
    const nothing = redactor();
    const pieces: string[] = [];
    const stream = nothing.stream((piece) => pieces.push(piece));
    stream.push('one');
    stream.push('');
    stream.end({ cut: true });
    expect(pieces).toEqual(['one']);
    expect([nothing.text('x'), nothing.output('x', 9), nothing.json('{"a": 1}')]).toEqual(['x', 'x', '{"a": 1}']);
  });

  it('takes out every occurrence, also side by side', () => {
    const text = redactor(['abcdef', 'ghijkl']);
    expect(text.text('abcdefabcdef')).toBe('[redacted][redacted]');
    expect(text.text('xabcdefyghijklz')).toBe('x[redacted]y[redacted]z');
    expect(text.text('abcde')).toBe('abcde');
    expect(text.text('abcabcdef')).toBe('abc[redacted]');
  });

  it.each([
    ['see longsec', 12, 'see [redacted]'],
    ['see longsec', 11, 'see longsec'],
    ['see long', 99, 'see [redacted]'],
    ['see lon', 99, 'see lon'],
    ['see longsecret', 99, 'see [redacted]'],
    ['é', 2, 'é'],
  ])('takes the first part of a secret off output that was cut: %j of %i bytes', (text, bytes, out) => {
    expect(redactor(['longsecret']).output(text, bytes)).toBe(out);
  });

  it('keeps numbers, booleans, null and times in a value', () => {
    const value = { a: 1, b: true, c: null, d: undefined, e: new Date(0), f: 1234567 };
    expect(redactor(['longsecret']).value(value)).toEqual(value);
    expect(redactor(['1234567']).value(value)).toEqual({ ...value, f: '[redacted]' });
  });

  it('keeps JSON what it is', () => {
    const json = redactor(['longsecret', '123456']);
    expect(json.json('{"a": "longsecret"}')).toBe('{"a": "[redacted]"}');
    expect(json.json('not json: 123456')).toBe('not json: [redacted]');
    expect(json.json('{"longsecret": 123456}')).toBe('{"[redacted]":"[redacted]"}');
    expect(json.json('{"a": 1}')).toBe('{"a": 1}');
  });

  it('changes an error only where it holds a secret', () => {
    const plain = new Error('plain');
    const { stack } = plain;
    expect(redactor(['longsecret']).error(plain)).toBe(plain);
    expect([plain.message, plain.stack]).toEqual(['plain', stack]);
    const error = new Error('a longsecret');
    error.stack = 'Error: a longsecret\n    at x';
    redactor(['longsecret']).error(error);
    expect([error.message, error.stack]).toEqual(['a [redacted]', 'Error: a [redacted]\n    at x']);
    const bare = new Error('a longsecret');
    delete bare.stack;
    expect(redactor(['longsecret']).error(bare).stack).toBeUndefined();
    expect(redactor(['longsecret']).error('longsecret')).toBe('longsecret');
  });

  it('holds back only what may become a secret', () => {
    const pieces: string[] = [];
    const stream = redactor(['longsecret']).stream((piece) => pieces.push(piece));
    for (const piece of ['a l', 'o', 'ng', ' longs', 'ecret!', 'l']) stream.push(piece);
    stream.end({ cut: false });
    expect(pieces).toEqual(['a ', 'long ', '[redacted]!', 'l']);
    expect(pieces.join('')).toBe('a long [redacted]!l');
  });
});

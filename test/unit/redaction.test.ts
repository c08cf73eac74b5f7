import { describe, expect, it } from 'vitest';
import { redactor } from '../../src/domain/redaction.ts';
import { isOrdinary } from '../../src/domain/spellings.ts';

describe('redaction', () => {
  it('leaves values shorter than six characters, which would match by chance', () => {
    expect(redactor(['12345']).text('12345')).toBe('12345');
  });
  it('keeps the result JSON when a secret looks like a number', () => {
    expect(redactor(['123456']).json('{"a": 1234567, "b": [123456]}')).toBe('{"a":"[redacted]7","b":["[redacted]"]}');
  });
  it('keeps the result JSON when a secret looks like syntax', () => {
    expect(redactor(['": ["x']).json('{"a": ["x"], "b": 1}')).toBe('{"a":["x"],"b":1}');
  });
  it('takes out a secret that the output limit cut in two', () => {
    expect(redactor(['longsecret']).output('see longsec', 70_000)).toBe('see [redacted]');
    expect(redactor(['longsecret']).output('see longsec', 11)).toBe('see longsec');
  });
  it('leaves errors and times within a value what they are', () => {
    const at = new Date(0);
    const failure = Object.assign(new Error('sent longsecret', { cause: new Error('longsecret') }), { code: 'kept' });
    const { list } = redactor(['longsecret']).value({ list: [failure, at] as const });
    expect(list[0]).toBeInstanceOf(Error);
    expect([list[0].message, (list[0].cause as Error).message, list[0].code]).toEqual(['sent [redacted]', '[redacted]', 'kept']);
    expect(list[1]).toEqual(at);
  });
  it('takes it out of the names of fields and out of lists, at any depth', () => {
    const value = { longsecret: [{ 'x-longsecret': 'longsecret', other: 1 }] };
    expect(redactor(['longsecret']).value(value)).toEqual({
      '[redacted]': [{ 'x-[redacted]': '[redacted]', other: 1 }],
    });
  });
  it('finds it in a URL, in base64 and with white space around it', () => {
    const secret = ' a/b+c d\n';
    const text = ['a/b+c d', encodeURIComponent('a/b+c d'), Buffer.from('a/b+c d').toString('base64')].join(' | ');
    expect(redactor([secret]).text(text)).toBe('[redacted] | [redacted] | [redacted]');
  });
});

describe('a text that comes in pieces', () => {
  const SECRET = 'sk-1234567890"abc';
  const streamed = (pieces: string[], how = { cut: false }, secrets = [SECRET]) => {
    let out = '';
    const stream = redactor(secrets).stream((piece) => {
      out += piece;
    });
    for (const piece of pieces) stream.push(piece);
    stream.end(how);
    return out;
  };

  it('loses a secret at whatever place it is cut, and nothing else', () => {
    const said = `Your key is ${SECRET}, in base64 ${Buffer.from(`user:${SECRET}`).toString('base64')}. s sk- sk-12`;
    for (let size = 1; size <= said.length; size += 1) {
      const pieces = said.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) as string[];
      expect(streamed(pieces)).toBe(redactor([SECRET]).text(said));
    }
    expect(redactor([SECRET]).text(said)).toMatch(
      /^Your key is \[redacted\], in base64 \S{1,8}\[redacted\]\S{0,3}\. s sk- sk-12$/,
    );
  });
  it('does not keep the first part of a secret when the text is broken off', () => {
    expect(streamed(['Your key is ', SECRET.slice(0, -2)], { cut: true })).toBe('Your key is [redacted]');
    expect(streamed(['It went to s'], { cut: true })).toBe('It went to s');
  });
  it('prefers the longer of two secrets that begin alike', () => {
    expect(streamed(['abcdef', 'ghij!'], { cut: false }, ['abcdef', 'abcdefghij'])).toBe('[redacted]!');
    // One of them the installation's own.
    expect(redactor(['abcdefghij'], redactor(['abcdef'])).text('abcdefghij!')).toBe('[redacted]!');
    expect(redactor(['abcdef'], redactor(['abcdefghij'])).text('abcdefghij!')).toBe('[redacted]!');
  });
  it('holds back the beginning of the longest secret of the run and of the installation', () => {
    const [short, long] = ['hunter22', SECRET];
    for (const known of [redactor([short], redactor([long])), redactor([long], redactor([short]))]) {
      const out: string[] = [];
      const stream = known.stream((piece) => out.push(piece));
      for (const piece of `It is ${long} or ${short}.`) stream.push(piece);
      stream.end({ cut: false });
      expect(out.join('')).toBe('It is [redacted] or [redacted].');
    }
  });
});

describe('what a secret is found as', () => {
  const found = (secret: string, text: string) => redactor([secret]).text(text);

  it('the parts of a composite value: behind a scheme, in an address, a cookie, JSON, and lines', () => {
    expect(found('Bearer abcdef123', 'abcdef123')).toBe('[redacted]');
    expect(found(`Basic ${Buffer.from('me:hunter22').toString('base64')}`, 'hunter22')).toBe('[redacted]');
    expect(found('postgres://me:p%40ssword1@db.example.com/x', 'p@ssword1 at db.example.com')).toBe(
      '[redacted] at db.example.com',
    );
    expect(found('https://example.com/?token=abc123def', 'abc123def of example.com')).toBe('[redacted] of example.com');
    expect(found('session=0123456789; path=somewhere', '0123456789')).toBe('[redacted]');
    expect(found('{"client_secret":"abc-123-def","project":"the-project"}', 'abc-123-def the-project')).toBe(
      '[redacted] the-project',
    );
    expect(found('-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n-----END KEY-----', 'MIIEvQIBADANBgkqhkiG9w0BAQEF')).toBe(
      '[redacted]',
    );
  });
  it('any depth of JSON in JSON that is met, HTML, hex, and both alphabets of base64', () => {
    const secret = `a"b\\c<d>&'e?~ÿ`;
    let json = secret;
    for (let depth = 0; depth < 5; depth += 1) {
      json = JSON.stringify(json);
      expect(found(secret, json)).not.toContain('b\\');
    }
    const bytes = Buffer.from(secret);
    for (const text of [bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url'), encodeURIComponent(secret)])
      expect(found(secret, text)).toBe('[redacted]');
    expect(found(secret, 'a&quot;b\\c&lt;d&gt;&amp;&#39;e?~ÿ')).toBe('[redacted]');
  });
  it('an error keeps its kind and loses the secret in its message, stack and causes', () => {
    const error = redactor(['secret-value']).error(new TypeError('no secret-value', { cause: new Error('secret-value') }));
    expect(error).toBeInstanceOf(TypeError);
    expect([error.message, error.stack, (error.cause as Error).message].join()).not.toContain('secret-value');
  });
  it('not an ordinary value of a header or a variable, which may be shown', () => {
    for (const text of [
      'application/json',
      'production',
      'text/html; charset=utf-8',
      '2024-11-05',
      '/usr/local/bin:/usr/bin',
      'https://example.com/v1',
    ])
      expect(isOrdinary(text)).toBe(true);
    for (const text of [
      'sk-ab12cd34',
      'hunter-22',
      '123456',
      'hunter22',
      'https://example.com/?key=1',
      'http://a:b@c',
      'averyveryverylongword',
    ])
      expect(isOrdinary(text)).toBe(false);
  });
});
